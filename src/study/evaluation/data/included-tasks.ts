import { readdir, readFile } from 'node:fs/promises';
import { dirname, join, resolve, sep } from 'node:path';
import { LayerloomError, reasonOf } from '../../../core/base/errors/errors.js';
import { isObject } from '../../../core/models/checkpoint/files/json.js';
import { YamlRefused, yamlValue } from '../../../core/texts/yaml.js';

// Folders of task files from the user (`include:`). If two files define the same task, the harness only logs
// it, so layerloom finds duplicates itself.

const skipped: readonly string[] = ['__pycache__', '.ipynb_checkpoints'];

const ownBeginning = 'layerloom_';

/** Maximum depth of includes; a longer chain is circular. */
const mostNested = 20;

interface IncludedTask {
  readonly directory: string;
  readonly file: string;
}

/**
 * Finds the tasks and groups in `*.yaml` files at any depth, like the harness.
 *
 * @returns file by task, in the order of folders and files
 * @throws INCLUDE_INVALID for a missing folder, two files of one task, and names of layerloom's own tasks
 */
export const readIncludedTasks = async (
  directories: readonly string[],
): Promise<ReadonlyMap<string, IncludedTask>> => {
  const tasks = new Map<string, IncludedTask>();
  for (const directory of directories) await addTasks(directory, tasks);
  return tasks;
};

const addTasks = async (directory: string, tasks: Map<string, IncludedTask>): Promise<void> => {
  const names = await readdir(directory, { recursive: true }).catch((cause: unknown) => {
    throw new LayerloomError('INCLUDE_INVALID', { directory, reason: reasonOf(cause) }, { cause });
  });
  const files = names
    .filter((name) => name.endsWith('.yaml') && !name.split(sep).some((part) => skipped.includes(part)))
    .sort();
  for (const file of files) {
    const task = nameIn(await settingsIn(join(directory, file)));
    if (task === undefined) continue;
    const before = tasks.get(task);
    const former =
      before === undefined || before.directory === directory
        ? before?.file
        : join(before.directory, before.file);
    const reason =
      former !== undefined
        ? `${former} and ${file} both define the task ${task}`
        : task.startsWith(ownBeginning)
          ? `${file} defines ${task}, but names that begin with ${ownBeginning} are reserved for layerloom`
          : undefined;
    if (reason !== undefined) throw new LayerloomError('INCLUDE_INVALID', { directory, reason });
    tasks.set(task, { directory, file });
  }
};

type Settings = Readonly<Record<string, unknown>>;

/** Reads a task file and merges in the files that it includes. Returns {} for an unreadable file. */
const settingsIn = async (file: string, depth = 0): Promise<Settings> => {
  const text = await readFile(file, 'utf8').catch(() => undefined);
  if (text === undefined || depth > mostNested) return {};
  const own = plainYaml(text);
  if (!isObject(own)) return {};
  const included = [own['include'] ?? []].flat().filter((name) => typeof name === 'string');
  const settings: Settings[] = [];
  for (const name of included) settings.push(await settingsIn(resolve(dirname(file), name), depth + 1));
  return Object.assign({}, ...settings, own) as Settings;
};

/** Parses YAML and ignores errors, because the harness reports them. */
const plainYaml = (text: string): unknown => {
  try {
    return yamlValue(text, 'last');
  } catch (error) {
    if (error instanceof YamlRefused) return undefined;
    throw error;
  }
};

const nameIn = ({ group, task }: Settings): string | undefined => {
  const name = group ?? task;
  return typeof name === 'string' && name !== '' ? name : undefined;
};
