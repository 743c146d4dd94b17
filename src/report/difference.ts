import { LayerloomError } from '../errors.js';
import type { EvaluationResult } from '../evaluation/result.js';
import { chooseOnHalf } from '../scores/choose-on-half.js';
import { comparePooled, type PairedComparison } from '../scores/paired.js';
import type { Resampling } from '../scores/resample.js';
import type { Difference } from './pages/data.js';

/** Compares results by problem, and collects messages where they are not of the same problems. */
export class Comparisons {
  /** Why comparisons could not be made, each message once. */
  readonly refusals = new Set<string>();

  /** Returns the comparison of two groups of results; undefined if they are not of the same problems. */
  compare(
    group: readonly EvaluationResult[],
    other: readonly EvaluationResult[],
    metric: string,
    options: Resampling = {},
  ): PairedComparison | undefined {
    if (group.length === 0 || other.length === 0) return undefined;
    return this.#attempt(() => comparePooled(group, other, metric, options));
  }

  /** Returns the score on the other half of the problems of what is best on one half; null if unknown. */
  otherHalf(rows: readonly (readonly EvaluationResult[])[], metric: string): number | null {
    return this.#attempt(() => chooseOnHalf(rows, metric))?.onOtherHalf ?? null;
  }

  #attempt<T>(compare: () => T): T | undefined {
    try {
      return compare();
    } catch (error) {
      if (!(error instanceof LayerloomError) || error.code !== 'RESULTS_NOT_PAIRED') throw error;
      this.refusals.add(error.message);
      return undefined;
    }
  }

  /** Returns the difference of two groups with its interval; null where there is no interval. */
  difference(
    group: readonly EvaluationResult[],
    other: readonly EvaluationResult[],
    metric: string,
  ): Difference | null {
    const { difference, interval, n } = this.compare(group, other, metric) ?? {};
    return difference === undefined || interval === undefined || n === undefined
      ? null
      : { mean: difference, interval, n };
  }
}
