import { layerOrigins } from '../../methods/layer-swap.js';
import type { ScoredModel } from '../../scores/scored-experiment.js';
import type { Band } from '../pages/data.js';

const count = (value: unknown): number => (typeof value === 'number' ? value : 0);

/** What a merge's picture shows: runs of layers of one origin, and the origin of what is outside them. */
export interface Drawn {
  readonly bands: readonly Band[];
  readonly outside: string | null;
}

/**
 * Returns the origins of a merge's layers. A layer swap has runs of layers; other methods mix the same models
 * in all layers, and so may a swap by a partition.
 *
 * @param layers number of layers; none are drawn where it is not known
 */
export const bandsOf = (model: ScoredModel, layers: number | undefined): Drawn => {
  if (layers === undefined || layers === 0 || model.role !== 'merge') return { bands: [], outside: null };
  const [task, language] = [model.task ?? 'the task expert', model.languageExpert ?? 'the language expert'];
  const { method, configuration } = model;
  const labels = { task, language, average: `average of ${task} and ${language}` };
  if (method !== 'layer_swap' || configuration['partition'] !== undefined) {
    const all = [model.task, model.languageExpert].filter((name) => name !== null).join(' and ');
    return {
      bands: [{ first: 0, last: layers - 1, from: 'mixed', label: `${method ?? 'merge'} of ${all}` }],
      outside: null,
    };
  }
  const others = configuration['others'];
  const origins = layerOrigins(
    {
      bottom: count(configuration['bottom']),
      top: count(configuration['top']),
      bottomTransition: count(configuration['bottomTransition']),
      topTransition: count(configuration['topTransition']),
      scaled: configuration['scaled'] === true,
      others: 'average',
      norms: 'layer',
    },
    layers,
  );
  const bands: Band[] = [];
  for (const [layer, from] of origins.entries()) {
    const last = bands.at(-1);
    const kind = from === 'average' ? 'mixed' : from;
    if (last?.from === kind) bands[bands.length - 1] = { ...last, last: layer };
    else bands.push({ first: layer, last: layer, from: kind, label: labels[from] });
  }
  return { bands, outside: others === 'task' || others === 'language' ? labels[others] : labels.average };
};
