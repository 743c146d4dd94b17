import { itemAt } from '../../../core/base/errors/lookup.js';
import type { EvaluationResult } from '../../evaluation/result.js';
import { orderOfProblems } from '../intervals/problem-order.js';
import { alignResults, whyUnpaired } from '../reading/align.js';
import { isHigherBetter } from '../reading/metrics.js';
import { inOrder, rowScores, scoreOfRow, scorerOf } from '../reading/row-score.js';
import { meanOf, sumOf } from '../statistics/mean.js';
import { defaultResampling, shuffles } from '../statistics/resample.js';

export interface HalfChoice {
  /** Index of the configuration that is best on all problems, and its score on them. */
  readonly best: number;
  readonly onAll: number;
  /** Score on half of the problems of the configuration that is best on the other, over all splits. */
  readonly onOtherHalf: number;
  /** For each configuration, the number of the `2 * splits` halves that chose it. Equal configurations share a half. */
  readonly chosen: readonly number[];
  readonly splits: number;
  readonly n: number;
}

export interface HalfChoiceOptions {
  /** Number of random splits; each half of a split is used once for the choice. Default 100. */
  readonly splits?: number | undefined;
  readonly seed?: number | undefined;
}

/**
 * Chooses the best of many configurations on one half of the problems and scores it on the other half, then
 * swaps the halves. Averages over seeded random splits. This avoids the winner's curse.
 *
 * @param configurations each configuration's results on one task, one per pair of experts
 * @returns undefined without results by problem
 * @throws RESULTS_NOT_PAIRED as `comparePaired`
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
  const sides = configurations.map(({ length }) => {
    before += length;
    return rowScores(columns.slice(before - length, before), aggregate);
  });
  const order = orderOfProblems([sides]);
  const scoresOn = scorerOf(sides.map((row) => inOrder(row, order)));
  const bestOf = (scores: readonly number[]): number[] => {
    const best = Math.max(...scores.map((score) => sign * score));
    return scores.flatMap((score, at) => (sign * score === best ? [at] : []));
  };
  const all = sides.map(scoreOfRow);
  const best = itemAt(bestOf(all), 0);
  const chosen = sides.map(() => 0);
  const others: number[] = [];
  for (const places of shuffles(n, splits, seed)) {
    const half = new Uint8Array(n);
    for (const at of places.slice(0, Math.floor(n / 2))) half[at] = 1;
    const halves = [half, half.map((taken) => 1 - taken)].map((taken) => scoresOn(taken, sumOf(taken)));
    for (const [here, there] of [halves, halves.toReversed()] as [number[], number[]][]) {
      const choice = bestOf(here);
      for (const at of choice) chosen[at] = itemAt(chosen, at) + 1 / choice.length;
      others.push(meanOf(choice.map((at) => itemAt(there, at))));
    }
  }
  return { best, onAll: itemAt(all, best), onOtherHalf: meanOf(others), chosen, splits, n };
};
