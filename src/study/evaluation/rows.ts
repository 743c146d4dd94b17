import { invalidParameter } from '../../core/base/errors/invalid-parameter.js';

/** Range of rows in a task's data, end exclusive. */
export type Rows = readonly [from: number, to: number];

export interface AskedRows {
  /** Number of rows to score, from the first. */
  readonly limit?: number | undefined;
  readonly rows?: Rows | undefined;
}

/**
 * Returns a task's rows to score. Every command that scores calls this, so that none leaves the experiment's
 * range: models may have been trained on the other rows.
 *
 * @param range the experiment's `problems`; null: all rows
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
        `rows of ${task} that the experiment's problems include: ${from}-${to - 1}`,
      );
    return rows;
  }
  return limit === undefined ? stated : [from, Math.min(to, from + limit)];
};

export const isWithin = (rows: Rows | null, range: Rows | null): boolean =>
  range === null || (rows !== null && rows[0] >= range[0] && rows[1] <= range[1]);
