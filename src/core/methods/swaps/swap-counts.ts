import { LayerloomError } from '../../base/errors/errors.js';
import { optionName } from '../../base/errors/option-name.js';
import { paperCounts, paperLayers, scaledCount } from '../framework/counts.js';

export interface Counts {
  readonly bottom: number;
  readonly top: number;
  readonly bottomTransition: number;
  readonly topTransition: number;
}

export const arePaperCounts = ({ bottom, top, bottomTransition, topTransition }: Counts): boolean =>
  bottom === paperCounts.bottom && top === paperCounts.top && bottomTransition === 0 && topTransition === 0;

export const countsFor = (parameters: Counts & { readonly scaled: boolean }, layers: number): Counts =>
  parameters.scaled ? scale(parameters, layers) : parameters;

/** Warns if default counts, meant for 32 layers, take most of a smaller model's layers. */
export const ofFewLayers = (counts: Counts, layers: number): string[] => {
  const { bottom, top } = counts;
  if (!arePaperCounts(counts) || bottom + top <= layers / 2) return [];
  const scaled = scale(counts, layers);
  return [
    `${bottom + top} of ${layers} layers are the language expert's: ${bottom} and ${top} are the paper's counts for 32 layers; ${optionName('scaled')} (in a file scaled: true) makes them ${scaled.bottom} and ${scaled.top}`,
  ];
};

const scale = ({ bottom, top, bottomTransition, topTransition }: Counts, layers: number): Counts => ({
  bottom: scaledCount(bottom, layers),
  top: scaledCount(top, layers),
  bottomTransition: scaledCount(bottomTransition, layers),
  topTransition: scaledCount(topTransition, layers),
});

export const checkCounts = (
  { bottom, bottomTransition, topTransition, top }: Counts,
  layers: number,
): void => {
  const requested = bottom + bottomTransition + topTransition + top;
  if (requested > layers)
    throw new LayerloomError(
      'TOO_MANY_LAYERS',
      {
        layers,
        requested,
        counts: { bottom, 'bottom transition': bottomTransition, 'top transition': topTransition, top },
        // If a model has at least the paper's number of layers, scaling does not lower the counts.
        ...(layers < paperLayers
          ? { remedy: `lower the counts or use ${optionName('scaled')} (in a file scaled: true)` }
          : {}),
      },
      { context: { recipePath: ['bottom'] } },
    );
};

export const isByCounts = (configuration: Readonly<Record<string, unknown>>): boolean =>
  ['partition', 'langLayers', 'baseLayers', 'parts'].every((name) => configuration[name] === undefined);
