import { invalidParameter } from '../../core/base/errors/invalid-parameter.js';

/** Rows of a task's data, end exclusive. */
export type Rows = readonly [from: number, to: number];

/** Rows to score instead of the experiment's. */
export interface AskedRows {
  /** The number of rows to score, from the first on. */
  readonly limit?: number | undefined;
  readonly rows?: Rows | undefined;
}

/**
 * Decides the rows of a task to score. Every scoring command calls this, so that none leaves the experiment's
 * range. The models may have been trained on other rows.
 *
 * @param range `problems` of the experiment; null: all rows
 * @param stated the experiment's rows: the range, or `limit`
 * @throws INVALID_PARAMETER for rows outside the range
 */
export const rowsToScore = (
  task: string,
  range: Rows | null,
  stated: Rows | null,
  { limit, rows }: AskedRows,
): Rows | null => {
  const [from, to] = range ?? [0, Number.POSITIVE_INFINITY];
  if (rows !== undefined) {
    if (rows[0] < from || rows[1] > to)
      throw invalidParameter(
        'rows',
        `${rows[0]}-${rows[1] - 1}`,
        `rows of ${task} within problems: ${from}-${to - 1}`,
      );
    return rows;
  }
  return limit === undefined ? stated : [from, Math.min(to, from + limit)];
};

/** True if rows are within a range; null means all rows. */
export const isWithin = (rows: Rows | null, range: Rows | null): boolean =>
  range === null || (rows !== null && rows[0] >= range[0] && rows[1] <= range[1]);
