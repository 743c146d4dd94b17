import { LayerloomError } from '../../base/errors.js';
import type { EvaluationResult } from '../../evaluation/result.js';
import { chooseOnHalf } from '../../scores/choose-on-half.js';
import { type ComparedFacts, type Conclusion, conclude } from '../../scores/conclusion.js';
import type { Row } from '../../scores/intervals/rows.js';
import { compareRows, type PairedComparison } from '../../scores/paired.js';
import type { Resampling } from '../../scores/resample.js';

/** Compares results by problem, and collects messages where they are not of the same problems. */
export class Comparisons {
  /** Why comparisons could not be made, each message once. */
  readonly refusals = new Set<string>();

  /** Returns the comparison of two rows of results; undefined if they are not of the same problems. */
  compare(row: Row, other: Row, metric: string, options: Resampling = {}): PairedComparison | undefined {
    if (row.results.length === 0 || other.results.length === 0) return undefined;
    return this.#attempt(() => compareRows(row, other, metric, options));
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

  /**
   * Returns what a comparison of two rows says; null if they are not of the same problems.
   *
   * @param candidates of how many a row has the best score, if it was chosen by it
   */
  conclusion(
    row: Row,
    other: Row,
    metric: string,
    candidates?: ComparedFacts['candidates'],
  ): Conclusion | null {
    const compared = this.compare(row, other, metric);
    return compared === undefined ? null : conclude({ metric, ...compared, candidates });
  }
}
