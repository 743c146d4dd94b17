import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { LayerloomError } from '../core/base/errors/errors.js';
import { orNearPath } from '../core/base/files/near-path.js';
import { benchmarks, dataOf as neededOf, tasksOf } from '../study/evaluation/data/benchmarks.js';
import { localTaskOf } from '../study/evaluation/data/local/local-data.js';

/** A directory's data for one task. */
export interface TaskData {
  /** Benchmark's title, such as `BELEBELE`. */
  readonly benchmark: string;
  /** Language's name in experiments, such as `swahili`. */
  readonly language: string;
  /** Harness's task name. */
  readonly task: string;
  /** `missing`: a file does not exist; `invalid`: the content of a file is wrong. */
  readonly state: 'there' | 'missing' | 'invalid';
  readonly problems: number;
  /** Reason why the task cannot use the directory. */
  readonly reason?: string;
}

/** Data in a directory, for tasks that can read local data. */
export interface TaskDataReport {
  readonly directory: string;
  readonly tasks: readonly TaskData[];
  /** Benchmarks without any data in the directory, with the files and rows that they need. */
  readonly absent: readonly { readonly benchmark: string; readonly files: string; readonly rows: string }[];
}

/**
 * Checks a directory of local data as evaluations read it: every file of every benchmark and language, row by
 * row.
 *
 * @throws LayerloomError DATA_MISSING if it is not a directory; faults inside are in the report
 */
export const checkTaskData = async (directory: string): Promise<TaskDataReport> => {
  const data = resolve(directory);
  const found = await stat(data).catch(() => undefined);
  if (!found?.isDirectory())
    throw new LayerloomError('DATA_MISSING', {
      task: 'the check',
      file: `a directory, but ${directory} ${found === undefined ? 'does not exist' : 'is a file'}`,
      remedy: `give the directory of local data${found === undefined ? orNearPath(directory) : ''}`,
    });
  const into = await mkdtemp(join(tmpdir(), 'layerloom-data-'));
  try {
    const tasks: TaskData[] = [];
    for (const benchmark of Object.values(benchmarks))
      for (const language of benchmark.languages)
        for (const task of tasksOf(benchmark, language)) {
          const found = await dataOf(task, data, into);
          if (found === undefined) continue;
          tasks.push({ benchmark: benchmark.title, language: language.name, task, ...found });
        }
    const there = new Set(tasks.filter(({ state }) => state !== 'missing').map(({ benchmark }) => benchmark));
    return {
      directory: data,
      tasks,
      absent: Object.values(benchmarks).flatMap((benchmark) => {
        const needed = neededOf(benchmark);
        if (needed === undefined || there.has(benchmark.title)) return [];
        return [{ benchmark: benchmark.title, ...needed }];
      }),
    };
  } finally {
    await rm(into, { recursive: true, force: true });
  }
};

const dataOf = async (
  task: string,
  data: string,
  into: string,
): Promise<Pick<TaskData, 'state' | 'problems' | 'reason'> | undefined> => {
  const local = localTaskOf(task);
  if (local === undefined) return undefined;
  try {
    const written = await local.write(data, into, 0);
    return {
      state: 'there',
      problems: [...written.values()].reduce((sum, { problems }) => sum + problems, 0),
    };
  } catch (error) {
    if (!(error instanceof LayerloomError)) throw error;
    if (!['DATA_MISSING', 'DATA_INVALID', 'READ_FAILED'].includes(error.code)) throw error;
    const state = error.code === 'DATA_MISSING' ? 'missing' : 'invalid';
    return { state, problems: 0, reason: error.message };
  }
};
