import { itemAt } from '../../../core/base/lookup.js';
import { meanOf, sumOf } from '../mean.js';
import { defaultResampling, type Resampling, resamplesOf } from '../resample.js';
import { inOrder, type RowScores, scoreOfRow, scoreOn } from '../row-score.js';
import { type Spread, spreadOf } from './crossed.js';
import { orderOfProblems } from './problem-order.js';
import type { Scaled } from './scaled.js';

/**
 * Returns the errors of choices, one for each resample of the problems, by side: the row that is best in the resample is
 * chosen among the side's, and its score in the resample taken less its score on all problems. Rows that are equally good
 * in the resample share it. The best row's score is above its true one by the luck that helped to choose it; so are these,
 * by luck that is drawn again. All sides share the resamples.
 *
 * @param sides rows of which the best by score is chosen; one row is no choice
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
    const rows = side.map((row) => inOrder(row, order));
    const scores = side.map(scoreOfRow);
    const errors = new Float64Array(resamples);
    let index = 0;
    for (const counts of resamplesOf(n, { resamples, seed })) {
      let [best, tied]: [number, number[]] = [Number.NEGATIVE_INFINITY, []];
      for (const [at, row] of rows.entries()) {
        const score = scoreOn(row, counts, n);
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

/** What problems do to a figure that was chosen by them. */
export interface ChoiceSpread {
  /** By how much the choice has raised the figure. */
  readonly bias: number;
  /** Its variance, the bias taken off. */
  readonly spread: Spread;
}

/**
 * Returns bias and variance of a chosen figure, from its errors by resample. The bias of resamples is about that of the
 * choice where rows differ by about their errors, too small where they are equal, and too large where one is far better:
 * it counts with an error of its own size. A figure that was chosen is not known better than one that was not.
 *
 * @param alike the figure by problem, of all rows that are as good as the chosen ones
 */
export const choiceSpread = (errors: Float64Array, alike: readonly Scaled[]): ChoiceSpread => {
  const bias = meanOf(errors);
  const squares = sumOf(errors.map((error) => (error - bias) ** 2)) / errors.length;
  const unchosen = alike.map(({ values, divisor }) => spreadOf(values, divisor));
  const variance = Math.max(squares, ...unchosen.map((of) => of.variance)) + bias ** 2;
  return { bias, spread: { variance, df: itemAt(unchosen, 0).df } };
};
