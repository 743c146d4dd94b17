import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';
import { itemAt, propertyAt } from '../../../core/base/errors/lookup.js';
import type { Proposal } from '../../../core/measure/analysis/advice/proposal.js';
import { isByCounts } from '../../../core/methods/swaps/swap-counts.js';
import type { ExperimentPoint } from './experiment-space.js';

/** Share of an expert's change in each layer, by expert. */
export type LayerShares = Readonly<Record<string, readonly number[]>>;

/** Numbers of layers that an analysis proposes for pairs. */
export type ProposedLayers = readonly Pick<Proposal, 'task' | 'language' | 'bottom' | 'top'>[];

export interface Analysed {
  readonly shares: LayerShares;
  readonly proposals: ProposedLayers;
}

/**
 * Orders configurations. Swaps that an analysis proposes come first, by number of pairs. Other swaps follow,
 * by the share of the experts' changes that they keep (paper §3.2), averaged over both experts and over
 * pairs. Other methods, soups, and configurations with more layers than the models have come last.
 */
export const orderByAnalysis = (
  points: readonly ExperimentPoint[],
  { shares, proposals }: Analysed,
): number[] => {
  const proposed = points.map((point) => pairsProposing(point, proposals));
  const kept = points.map((point) => keptChange(point, shares));
  return points
    .map((_, index) => index)
    .sort((a, b) => itemAt(proposed, b) - itemAt(proposed, a) || (kept[b] ?? -1) - (kept[a] ?? -1));
};

/** Counts pairs for which the analysis proposes exactly these layers. Proposals have no transitions. */
export const pairsProposing = (
  { method, configuration, merges }: Pick<ExperimentPoint, 'method' | 'configuration' | 'merges'>,
  proposals: ProposedLayers,
): number => {
  const { bottom, top, bottomTransition, topTransition, scaled } = configuration;
  if (method !== 'layer_swap' || !isByCounts(configuration)) return 0;
  if (bottomTransition !== 0 || topTransition !== 0 || scaled === true) return 0;
  return merges.filter(({ task, languageExpert }) =>
    proposals.some(
      (of) => of.task === task && of.language === languageExpert && of.bottom === bottom && of.top === top,
    ),
  ).length;
};

/** Orders configurations at random, after the default. Equal seeds give equal orders. */
export const orderBySeed = (count: number, standard: number, seed: number): number[] => {
  const random = xoroshiro128plus(seed);
  const others = Array.from({ length: count }, (_, point) => point).filter((point) => point !== standard);
  for (let at = others.length - 1; at > 0; at -= 1) {
    const other = uniformInt(random, 0, at);
    [others[at], others[other]] = [itemAt(others, other), itemAt(others, at)];
  }
  return [standard, ...others];
};

/** Returns the share of the experts' changes that a configuration keeps, if known. */
export const keptChange = (
  { method, configuration, merges }: ExperimentPoint,
  shares: LayerShares,
): number | undefined => {
  if (method !== 'layer_swap' || !isByCounts(configuration)) return undefined;
  const kept = merges.map(({ task, languageExpert }) => {
    if (task === null || languageExpert === null) return undefined;
    if (!Object.hasOwn(shares, task) || !Object.hasOwn(shares, languageExpert)) return undefined;
    return keptOfPair(configuration, propertyAt(shares, task), propertyAt(shares, languageExpert));
  });
  if (kept.some((share) => share === undefined)) return undefined;
  return kept.reduce<number>((sum, share) => sum + (share ?? 0), 0) / kept.length;
};

const keptOfPair = (
  configuration: Readonly<Record<string, unknown>>,
  task: readonly number[],
  language: readonly number[],
): number | undefined => {
  const [bottom, top, bottomTransition, topTransition] = [
    'bottom',
    'top',
    'bottomTransition',
    'topTransition',
  ].map((name) => Number(configuration[name]));
  const layers = task.length;
  const counts = [bottom, top, bottomTransition, topTransition] as [number, number, number, number];
  if (counts.some(Number.isNaN) || counts.reduce((a, b) => a + b) > layers) return undefined;
  const [b, u, tb, tu] = counts;
  const half = languageWeight(configuration['weights']);
  return task.reduce((sum, ofTask, layer) => {
    const isLanguage = layer < b || layer >= layers - u;
    const isTask = layer >= b + tb && layer < layers - u - tu;
    const share = isLanguage ? 1 : isTask ? 0 : half;
    return sum + ((1 - share) * ofTask + share * itemAt(language, layer)) / 2;
  }, 0);
};

/** Returns the language expert's weight in averages; 0.5 for magnitude weights, which are nearly equal. */
const languageWeight = (weights: unknown): number => {
  if (!Array.isArray(weights)) return 0.5;
  const [ofTask, ofLanguage] = weights.map(Number) as [number, number];
  return ofLanguage / (ofTask + ofLanguage);
};
