import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';
import { LayerloomError } from '../../../core/base/errors.js';
import { readIncludedTasks } from './included-tasks.js';
import { isLocalOnly, localTaskOf } from './local-data.js';
import { runsCode } from './task-facts.js';

/** The task files of the package, which `lm_eval --include_path` takes as they are where data come from the hub. */
export const shippedTasks = fileURLToPath(new URL('../../../../tasks', import.meta.url));

/** What `evaluate:` says of tasks: directories that they come from, and whether they may run code. */
interface TaskPlaces {
  readonly data?: string | undefined;
  readonly include?: readonly string[];
  readonly confirmRunUnsafeCode?: boolean;
  /** Worked examples before each problem of a task; undefined: the task's own number. */
  readonly fewshotOf?: (task: string) => number | undefined;
}

/** What a run of the harness needs beyond its own tasks. */
export interface PreparedTasks {
  /** Folders for the harness's `include_path`; empty if its own tasks suffice. */
  readonly includePaths: readonly string[];
  /** The user's own folder by the task that it defines. */
  readonly included: ReadonlyMap<string, string>;
  /** Variables of the harness's process. */
  readonly environment: Readonly<Record<string, string>>;
  /** For users: tasks that read the hub though a local directory is given. */
  readonly notes: readonly string[];
  /** Tasks that cannot run, by name; the others can. */
  readonly failures: ReadonlyMap<string, LayerloomError>;
}

/**
 * Returns the benchmarks that a directory with the data of others has nothing of: those take the hub's. One of which a
 * language or a file is missing does not, and neither does any if the directory has no data at all.
 */
const notInDirectory = (
  local: readonly string[],
  failures: ReadonlyMap<string, LayerloomError>,
): ReadonlySet<string> => {
  const benchmarkOf = (task: string): string[] => [localTaskOf(task)?.benchmark ?? []].flat();
  const there = new Set(local.flatMap(benchmarkOf));
  const missing = [...failures].filter(([task, { code }]) => code === 'DATA_MISSING' && !isLocalOnly(task));
  const spoilt = [...failures].filter(([, { code }]) => code === 'DATA_INVALID');
  const isElsewhere = there.size > 0;
  const kept = new Set([...there, ...spoilt.flatMap(([task]) => benchmarkOf(task))]);
  return new Set(
    isElsewhere ? missing.flatMap(([task]) => benchmarkOf(task)).filter((each) => !kept.has(each)) : [],
  );
};

/**
 * Prepares tasks for `lm_eval`. With local data it writes their rows and one task file each, which differs from the
 * package's or the harness's own in the data set alone; the harness is then kept off the network if every task that
 * can run is local.
 *
 * @param tasks the harness's names of tasks; those it has itself need no preparing
 * @param settings `data` is a directory with `mgsm_*.tsv` and `exemplars.json`, or `*.devtest` of FLORES-200; `include`
 *   those with task files of the user's own
 * @param into a directory of its own, made if need be; it must stay until the run has ended
 * @throws LayerloomError INCLUDE_INVALID
 */
export const prepareTasks = async (
  tasks: readonly string[],
  { data, include = [], confirmRunUnsafeCode = false, fewshotOf = () => undefined }: TaskPlaces,
  into: string,
): Promise<PreparedTasks> => {
  const failures = new Map<string, LayerloomError>();
  const local: string[] = [];
  const notes: string[] = [];
  const folder = resolve(into);
  const included = await readIncludedTasks(include);

  for (const task of new Set(tasks)) {
    if (included.has(task)) continue;
    if (runsCode(task) && !confirmRunUnsafeCode) {
      failures.set(task, new LayerloomError('CODE_NOT_ALLOWED', { task }));
      continue;
    }
    const localTask = localTaskOf(task);
    if (localTask === undefined) {
      if (data !== undefined) notes.push(`${task} takes its data from the hub: \`data:\` is not for it`);
      continue;
    }
    if (data === undefined) {
      if (localTask.needed !== undefined)
        failures.set(task, new LayerloomError('DATA_MISSING', { task, file: localTask.needed }));
      continue;
    }
    try {
      const rows = join(folder, 'data');
      await mkdir(rows, { recursive: true });
      for (const [name, { files }] of await localTask.write(resolve(data), rows, fewshotOf(task))) {
        const file = stringify({
          include: join(shippedTasks, localTask.template),
          task: name,
          dataset_path: 'json',
          dataset_name: null,
          dataset_kwargs: { data_files: files },
          ...localTask.settingsFor?.(files),
        });
        await writeFile(join(folder, `${name}.yaml`), file);
      }
      local.push(task);
    } catch (error) {
      if (!(error instanceof LayerloomError)) throw error;
      failures.set(task, error);
    }
  }
  for (const benchmark of notInDirectory(local, failures)) {
    notes.push(`${benchmark} takes its data from the hub: ${data} has none of it`);
    for (const task of failures.keys())
      if (localTaskOf(task)?.benchmark === benchmark && !isLocalOnly(task)) failures.delete(task);
  }

  const running = [...new Set(tasks)].filter((task) => !failures.has(task));
  const shipped = running.filter((task) => task.startsWith('layerloom_') && !local.includes(task));
  // Of a task in two folders the harness takes either: beside local ones, those of the hub are named one by one.
  if (local.length > 0)
    for (const task of shipped)
      await writeFile(
        join(folder, `${task}.yaml`),
        stringify({ include: join(shippedTasks, `${task}.yaml`), task }),
      );
  const code = running.filter(runsCode);
  if (code.length > 0)
    notes.push(`${code.join(', ')}: runs the programs that models write, with your rights`);
  return {
    includePaths: [...(local.length > 0 ? [folder] : shipped.length > 0 ? [shippedTasks] : []), ...include],
    included: new Map([...included].map(([task, { directory }]) => [task, directory])),
    environment: {
      // The metric of the harness's own tasks asks for its own consent.
      ...(code.length === 0 ? {} : { HF_ALLOW_CODE_EVAL: '1' }),
      ...(local.length > 0 && local.length === running.length
        ? {
            HF_HUB_OFFLINE: '1',
            HF_DATASETS_OFFLINE: '1',
            HF_DATASETS_CACHE: join(folder, 'cache'),
          }
        : {}),
    },
    notes,
    failures,
  };
};
