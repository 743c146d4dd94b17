import { invalidParameter } from '../../core/base/invalid-parameter.js';

/** Rows of a task's data: the first, and the one after the last. */
export type Rows = readonly [from: number, to: number];

/** Which of a task's rows are asked for, in place of all that an experiment states. */
export interface AskedRows {
  /** The first so many. */
  readonly limit?: number | undefined;
  readonly rows?: Rows | undefined;
}

/**
 * Decides the rows of a task that are scored. All commands that score ask here, so that none leaves the range of problems
 * that an experiment states: its models may have been trained on the others.
 *
 * @param range `problems` of the experiment; null for all of the task's rows
 * @param stated the rows that the experiment asks for: the range, or `limit`
 * @throws LayerloomError INVALID_PARAMETER for rows that are not in the range
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

/** True for rows that lie in a range; null, all rows, is in no range but all. */
export const isWithin = (rows: Rows | null, range: Rows | null): boolean =>
  range === null || (rows !== null && rows[0] >= range[0] && rows[1] <= range[1]);
