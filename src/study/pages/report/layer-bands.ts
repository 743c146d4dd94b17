import { groupBy, ownValue } from '../../../core/base/errors/lookup.js';
import { decimals } from '../../../core/methods/operations/program/words.js';
import { type SwapOrigin, swapOrigins } from '../../../core/methods/swaps/swap-origins.js';
import type { ScoredModel } from '../../scores/reading/scored-experiment.js';
import type { Band } from '../components/data/data.js';

export interface Drawn {
  readonly bands: readonly Band[];
  readonly outside: string | null;
}

type Names = Readonly<Record<string, string>>;

/** Describes shares: `math-1`, `average of math-1 and jpn-1`, `0.3 math-1 + 0.7 jpn-1`. */
const wordsOf = ({ shares }: SwapOrigin, names: Names): string => {
  const named = shares.map(({ of, weight }) => ({ name: ownValue(names, String(of)) ?? String(of), weight }));
  const [first, ...others] = named;
  if (first === undefined || others.length === 0) return first?.name ?? '';
  return others.every(({ weight }) => weight === first.weight)
    ? `average of ${named.map(({ name }) => name).join(' and ')}`
    : named.map(({ name, weight }) => `${decimals(weight)} ${name}`).join(' + ');
};

const labelOf = (origins: readonly SwapOrigin[], names: Names): string => {
  const alike = groupBy(origins, (origin) => wordsOf(origin, names));
  if (alike.size === 1) return [...alike.keys()].join();
  return [...alike].map(([words, of]) => `${of.map(({ module }) => module).join(', ')}: ${words}`).join('; ');
};

const kindOf = (origins: readonly SwapOrigin[]): Band['from'] => {
  const all = new Set(origins.flatMap(({ shares }) => shares.map(({ of }) => of)));
  const [of, ...others] = all;
  if (others.length > 0) return 'mixed';
  return of === 'task' || of === 'language' ? of : 'other';
};

/**
 * Returns the origins of a merge's layers, as bands. For other methods than swaps, and some swaps by a
 * partition, there is one band, because all layers mix the same models.
 *
 * @param layers number of layers; if undefined, there are no bands
 */
export const bandsOf = (model: ScoredModel, layers: number | undefined): Drawn => {
  if (layers === undefined || layers === 0 || model.role !== 'merge') return { bands: [], outside: null };
  const { method, configuration, task, languageExpert } = model;
  if (method !== 'layer_swap' || configuration['partition'] !== undefined) {
    const all = [task, languageExpert].filter((name) => name !== null).join(' and ');
    return {
      bands: [{ first: 0, last: layers - 1, from: 'mixed', label: `${method ?? 'merge'} of ${all}` }],
      outside: null,
    };
  }
  const names = {
    task: task ?? 'the task expert',
    language: languageExpert ?? 'the language expert',
    base: 'the base',
  };
  const { inside, outside } = swapOrigins(configuration, layers);
  const bands: Band[] = [];
  for (const [layer, origins] of inside.entries()) {
    const last = bands.at(-1);
    const label = labelOf(origins, names);
    if (last?.label === label) bands[bands.length - 1] = { ...last, last: layer };
    else bands.push({ first: layer, last: layer, from: kindOf(origins), label });
  }
  return { bands, outside: labelOf(outside, names) };
};
