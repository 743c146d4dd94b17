import { groupBy } from '../../core/base/errors/lookup.js';
import { taskOf } from './data/task-facts.js';
import type { ResultSummary } from './result-files.js';
import type { Rows } from './settings.js';

/** Measured durations of harness runs, by task. */
export interface Pace {
  readonly results: number;
  /** Seconds per problem, loading included; undefined if never measured. */
  secondsPerProblem(task: string): number | undefined;
  /**
   * Returns the number of problems; undefined if no result and no benchmark states it. Null rows mean all.
   */
  problemsIn(task: string, rows: Rows | null): number | undefined;
  /** Seconds per model; undefined if never measured. */
  secondsOf(task: string, rows: Rows | null): number | undefined;
}

/**
 * Derives this machine's pace from its own results, not from imported results. A run's seconds are divided among its
 * tasks by number of problems.
 */
export const paceOf = (results: readonly ResultSummary[]): Pace => {
  const own = results.filter(({ source, seconds, n }) => source === 'run' && seconds > 0 && n > 0);
  const runs = groupBy(own, ({ weights, started, seconds }) => `${weights} ${started} ${seconds}`);
  const shares = [...runs.values()].flatMap((run) => {
    const all = run.reduce((sum, { n }) => sum + n, 0);
    return run.map(({ task, seconds, n }) => ({ task, seconds: (seconds * n) / all, n }));
  });
  const byTask = new Map(
    [...groupBy(shares, ({ task }) => task)].map(([task, of]) => [
      task,
      of.reduce((sum, { seconds }) => sum + seconds, 0) / of.reduce((sum, { n }) => sum + n, 0),
    ]),
  );
  const sizes = new Map(results.flatMap(({ task, rows, n }) => (rows === null ? [[task, n]] : [])));
  const problemsIn: Pace['problemsIn'] = (task, rows) => {
    const all = sizes.get(task) ?? taskOf(task)?.problems;
    if (rows === null) return all;
    const [from, to] = rows;
    return Math.max(0, Math.min(to, all ?? to) - from);
  };
  return {
    results: own.length,
    problemsIn,
    secondsPerProblem: (task) => byTask.get(task),
    secondsOf: (task, rows) => {
      const [each, problems] = [byTask.get(task), problemsIn(task, rows)];
      return each === undefined || problems === undefined ? undefined : each * problems;
    },
  };
};
