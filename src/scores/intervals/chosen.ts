import { type Aligned, type Column, condensed, meanScore } from '../align.js';
import { meanOf } from '../mean.js';
import { defaultResampling, type Resampling, resamplesOf } from '../resample.js';
import type { Spread } from './crossed.js';

/** Rows of which the best by score is chosen; one row is no choice. */
export interface Choice {
  readonly rows: readonly (readonly Column[])[];
  /** 1 if the highest score is chosen, -1 if the lowest. */
  readonly sign: 1 | -1;
}

/**
 * Returns the errors of a choice, one for each resample of the problems: the row that is best in the resample is chosen,
 * and its score in the resample taken less its score on all problems. The best row's score is above its true one by
 * the luck that helped to choose it; so are these, by luck that is drawn again.
 */
export const choiceErrors = (
  { rows, sign }: Choice,
  { n, aggregate }: Pick<Aligned, 'n' | 'aggregate'>,
  { resamples = defaultResampling.resamples, seed = defaultResampling.seed }: Resampling,
): Float64Array => {
  const own = rows.map((row) => condensed(row, aggregate));
  const scores = own.map((row) => meanScore(row, aggregate));
  const errors = new Float64Array(resamples);
  let index = 0;
  for (const counts of resamplesOf(n, { resamples, seed })) {
    let [best, error] = [Number.NEGATIVE_INFINITY, 0];
    for (const [at, row] of own.entries()) {
      const score = meanScore(row, aggregate, counts);
      if (sign * score <= best) continue;
      best = sign * score;
      error = score - (scores[at] as number);
    }
    errors[index] = error;
    index += 1;
  }
  return errors;
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
 * it counts as anything from none to twice what it is, which adds a third of its square to the variance.
 */
export const choiceSpread = (errors: Float64Array, n: number): ChoiceSpread => {
  const bias = meanOf(errors);
  const squares = errors.reduce((sum, error) => sum + (error - bias) ** 2, 0);
  return { bias, spread: { variance: squares / errors.length + bias ** 2 / 3, df: n - 1 } };
};
