import type { ModelView } from '../framework/declaration/method.js';
import { repeatableWeights, resolvedWeights } from '../framework/declaration/parameters.js';
import type { ModelInput } from '../framework/declaration/recipe-input.js';
import type { LayerSet } from '../framework/layer-set.js';
import { type Part, type PartParameters, spellPart } from '../framework/parts.js';
import type { Counts } from './swap-counts.js';
import { spellLayers } from './swap-parts.js';

interface SwapRecord {
  readonly weights: 'magnitude' | readonly number[];
  readonly others: string;
  readonly norms: string;
  readonly langLayers?: LayerSet | undefined;
  readonly baseLayers?: LayerSet | undefined;
  readonly parts?: readonly PartParameters[] | undefined;
}

interface Described {
  readonly parameters: SwapRecord;
  readonly counts: Counts;
  readonly used: readonly number[];
  readonly parts: readonly Part[];
  readonly models: readonly ModelView[];
  readonly position: (of: ModelInput) => number;
}

export const repeatable = ({ parameters, counts, used }: Described): Record<string, unknown> => {
  const { others, norms, langLayers, baseLayers } = parameters;
  // A complete recipe already lists parts and their models.
  if (parameters.parts !== undefined) return {};
  const { bottom, top, bottomTransition, topTransition } = counts;
  return {
    ...(langLayers === undefined
      ? { bottom, top, bottomTransition, topTransition }
      : { langLayers: spellLayers(langLayers) }),
    ...(baseLayers === undefined ? {} : { baseLayers: spellLayers(baseLayers) }),
    weights: repeatedWeights(parameters, used),
    others,
    norms,
  };
};

/** Returns weights that give the same shares when used again. */
export const repeatedWeights = ({ weights }: Pick<SwapRecord, 'weights'>, used: readonly number[]) =>
  weights === 'magnitude' ? repeatableWeights(used) : weights;

/** Returns the parameters as used, in YAML's spelling. */
export const resolve = ({
  parameters,
  counts,
  used,
  parts,
  models,
  position,
}: Described): Record<string, unknown> => {
  const { weights, others, norms, langLayers, baseLayers } = parameters;
  const nameOf = (of: ModelInput): unknown => {
    const view = models[position(of)];
    return view?.recipe ?? view?.name ?? of;
  };
  if (parameters.parts !== undefined) return { parts: parts.map((part) => spellPart(part, nameOf)) };
  return {
    ...(langLayers === undefined
      ? {
          bottom: counts.bottom,
          top: counts.top,
          bottom_transition: counts.bottomTransition,
          top_transition: counts.topTransition,
        }
      : { lang_layers: spellLayers(langLayers) }),
    ...(baseLayers === undefined ? {} : { base_layers: spellLayers(baseLayers) }),
    ...resolvedWeights(weights, used),
    others,
    norms,
  };
};
