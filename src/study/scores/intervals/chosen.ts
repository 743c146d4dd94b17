import { itemAt } from '../../../core/base/errors/lookup.js';
import { inOrder, type RowScores, scoreOfRow, scorerOf } from '../reading/row-score.js';
import { meanOf, sumOf } from '../statistics/mean.js';
import { defaultResampling, type Resampling, resamplesOf } from '../statistics/resample.js';
import { type Spread, spreadOf } from './crossed.js';
import { orderOfProblems } from './problem-order.js';
import type { Scaled } from './scaled.js';

/**
 * Returns the errors of choices by side, one for each resample of the problems: the score of the resample's
 * best row minus that row's score on all problems. Ties share a resample. All sides share the resamples.
 *
 * @param sides rows from which the best is chosen; a single row involves no choice
 * @param sign 1 if the highest score is chosen, -1 if the lowest
 * @param n number of problems
 */
export const choiceErrors = (
  sides: readonly (readonly RowScores[])[],
  sign: 1 | -1,
  n: number,
  { resamples = defaultResampling.resamples, seed = defaultResampling.seed }: Resampling,
): Float64Array[] => {
  const order = orderOfProblems(sides);
  return sides.map((side) => {
    const scoresOn = scorerOf(side.map((row) => inOrder(row, order)));
    const scores = side.map(scoreOfRow);
    const errors = new Float64Array(resamples);
    let index = 0;
    for (const counts of resamplesOf(n, { resamples, seed })) {
      let [best, tied]: [number, number[]] = [Number.NEGATIVE_INFINITY, []];
      for (const [at, score] of scoresOn(counts, n).entries()) {
        if (sign * score < best) continue;
        const error = score - itemAt(scores, at);
        if (sign * score > best) [best, tied] = [sign * score, [error]];
        else tied.push(error);
      }
      errors[index] = meanOf(tied);
      index += 1;
    }
    return errors;
  });
};

export interface ChoiceSpread {
  /** Amount by which choosing on the same problems raised the figure. */
  readonly bias: number;
  readonly spread: Spread;
}

/**
 * Returns bias and variance of a chosen figure, from its errors by resample. The bias is too small for equal rows, and
 * too large if one row is far better. So the variance includes the bias squared, and is at least an unchosen figure's
 * variance.
 *
 * @param alike the figure by problem, for each row as good as the chosen one
 */
export const choiceSpread = (errors: Float64Array, alike: readonly Scaled[]): ChoiceSpread => {
  const bias = meanOf(errors);
  const squares = sumOf(errors.map((error) => (error - bias) ** 2)) / errors.length;
  const unchosen = alike.map(({ values, divisor }) => spreadOf(values, divisor));
  const variance = Math.max(squares, ...unchosen.map((of) => of.variance)) + bias ** 2;
  return { bias, spread: { variance, df: itemAt(unchosen, 0).df } };
};
