import { itemAt } from '../base/lookup.js';
import type { EvaluationResult } from '../evaluation/result.js';
import { alignResults, type Column, condensed, meanScore, whyUnpaired } from './align.js';
import { isHigherBetter } from './metrics.js';
import { defaultResampling, shuffles } from './resample.js';

/** The score of the best of several configurations, with and without the winner's curse. */
export interface HalfChoice {
  /** Index of the configuration that is best on all problems, and its score on the same problems. */
  readonly best: number;
  readonly onAll: number;
  /** Mean score on the other half of the problems, of the configuration that was best on one half. */
  readonly onOtherHalf: number;
  /** By configuration: how many of the `2 * splits` halves chose it. */
  readonly chosen: readonly number[];
  readonly splits: number;
  /** Number of problems. */
  readonly n: number;
}

export interface HalfChoiceOptions {
  /** Number of random splits; each is used both ways. Default 100. */
  readonly splits?: number | undefined;
  readonly seed?: number | undefined;
}

/**
 * Chooses the best of many configurations on one half of the problems and scores it on the other, both ways, over
 * seeded random splits. The best on all problems looks better than it is, since luck helped to choose it (the winner's
 * curse); the score on the other half is free of that.
 *
 * @param configurations results of each configuration in one task: one for each pair of experts
 * @returns undefined without results by problem
 * @throws LayerloomError RESULTS_NOT_PAIRED as `comparePaired`
 */
export const chooseOnHalf = (
  configurations: readonly (readonly EvaluationResult[])[],
  metric: string,
  { splits = 100, seed = defaultResampling.seed }: HalfChoiceOptions = {},
): HalfChoice | undefined => {
  const results = configurations.flat();
  if (results.length === 0 || whyUnpaired(results, metric) !== undefined) return undefined;
  const { n, columns, aggregate } = alignResults(results, metric);
  if (n < 2) return undefined;
  const sign = isHigherBetter(itemAt(results, 0), metric) ? 1 : -1;
  let before = 0;
  const rows: (readonly Column[])[] = configurations.map((of) => {
    const own = condensed(columns.slice(before, before + of.length), aggregate);
    before += of.length;
    return own;
  });
  const scoresOn = (counts?: Uint8Array) => rows.map((row) => meanScore(row, aggregate, counts));
  const bestOf = (scores: readonly number[]): number =>
    scores.reduce((best, score, at) => (sign * score > sign * itemAt(scores, best) ? at : best), 0);
  const all = scoresOn();
  const best = bestOf(all);
  const chosen = rows.map(() => 0);
  let total = 0;
  for (const order of shuffles(n, splits, seed)) {
    const half = new Uint8Array(n);
    for (const at of order.slice(0, Math.floor(n / 2))) half[at] = 1;
    const halves = [scoresOn(half), scoresOn(half.map((taken) => 1 - taken))] as const;
    for (const [here, there] of [halves, [halves[1], halves[0]] as const]) {
      const choice = bestOf(here);
      chosen[choice] = itemAt(chosen, choice) + 1;
      total += itemAt(there, choice);
    }
  }
  return { best, onAll: itemAt(all, best), onOtherHalf: total / (2 * splits), chosen, splits, n };
};
