import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { stringify } from 'yaml';
import { LayerloomError } from '../../../core/base/errors/errors.js';
import { shipped } from '../../../core/base/files/shipped.js';
import { readIncludedTasks } from './included-tasks.js';
import { isLocalOnly, localTaskOf } from './local/local-data.js';
import { runsCode } from './task-facts.js';

/** Task files of layerloom, which load data from the hub. */
export const shippedTasks = shipped('tasks');

interface TaskPlaces {
  readonly data?: string | undefined;
  readonly include?: readonly string[];
  readonly confirmRunUnsafeCode?: boolean;
  /** Few-shot examples per problem; undefined for the task's default. */
  readonly fewshotOf?: (task: string) => number | undefined;
}

export interface PreparedTasks {
  /** Folders for `include_path`; empty if the harness's own tasks suffice. */
  readonly includePaths: readonly string[];
  readonly included: ReadonlyMap<string, string>;
  readonly environment: Readonly<Record<string, string>>;
  /** Warnings about tasks that use the hub although a local directory is given. */
  readonly notes: readonly string[];
  readonly failures: ReadonlyMap<string, LayerloomError>;
}

/**
 * Returns the benchmarks that use the hub because the directory lacks their files. Returns none if the
 * directory has no data at all.
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
 * Prepares tasks for `lm_eval`. For local data, writes the rows and task files that read them. If all tasks
 * that can run are local, keeps the harness offline.
 *
 * @param settings `data`: directory of benchmark files; `include`: directories of the user's task files
 * @param into directory, made if needed; must stay until the run ends
 * @throws INCLUDE_INVALID
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
      if (data !== undefined) notes.push(`${task} takes its data from the hub: it cannot read \`data:\``);
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
    notes.push(`${benchmark} takes its data from the hub: ${data} has no file of it`);
    for (const task of failures.keys())
      if (localTaskOf(task)?.benchmark === benchmark && !isLocalOnly(task)) failures.delete(task);
  }

  const running = [...new Set(tasks)].filter((task) => !failures.has(task));
  const shipped = running.filter((task) => task.startsWith('layerloom_') && !local.includes(task));
  // If two folders define a task, the harness may use either, so the hub's tasks are included one by one.
  if (local.length > 0)
    for (const task of shipped)
      await writeFile(
        join(folder, `${task}.yaml`),
        stringify({ include: join(shippedTasks, `${task}.yaml`), task }),
      );
  const code = running.filter(runsCode);
  if (code.length > 0)
    notes.push(`${code.join(', ')}: runs programs that models wrote, with your permissions`);
  return {
    includePaths: [...(local.length > 0 ? [folder] : shipped.length > 0 ? [shippedTasks] : []), ...include],
    included: new Map([...included].map(([task, { directory }]) => [task, directory])),
    environment: {
      // The harness's own code metric requires this consent.
      ...(code.length === 0 ? {} : { HF_ALLOW_CODE_EVAL: '1' }),
      ...(local.length > 0 && local.length === running.length
        ? { HF_HUB_OFFLINE: '1', HF_DATASETS_OFFLINE: '1', HF_DATASETS_CACHE: join(folder, 'cache') }
        : {}),
    },
    notes,
    failures,
  };
};
