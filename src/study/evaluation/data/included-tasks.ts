import { readdir, readFile } from 'node:fs/promises';
import { dirname, join, resolve, sep } from 'node:path';
import { LayerloomError, reasonOf } from '../../../core/base/errors.js';
import { isObject } from '../../../core/models/checkpoint/json.js';
import { YamlRefused, yamlValue } from '../../../core/texts/yaml.js';

// A user's own folders of task files (`include:`). The harness takes the first of two files that define one task and
// only logs the second, so that they are looked for here.

/** Folders that the harness does not look into. */
const skipped: readonly string[] = ['__pycache__', '.ipynb_checkpoints'];

/** Beginning of the names of the package's own tasks. */
const ownBeginning = 'layerloom_';

/** Most files that include each other; more of them include themselves. */
const mostNested = 20;

/** A file of the user's that defines a task. */
interface IncludedTask {
  /** The folder that `include:` names. */
  readonly directory: string;
  /** Its place in the folder. */
  readonly file: string;
}

/**
 * Reads which tasks and groups folders define, in `*.yaml` files at any depth, as the harness looks for them. Files
 * that define none are left out.
 *
 * @returns file by name of task, in the order of folders and files
 * @throws LayerloomError INCLUDE_INVALID without a folder, for two files of one task, and for names of layerloom's own
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
          ? `${file} defines ${task}, and names that begin with ${ownBeginning} are layerloom's own`
          : undefined;
    if (reason !== undefined) throw new LayerloomError('INCLUDE_INVALID', { directory, reason });
    tasks.set(task, { directory, file });
  }
};

type Settings = Readonly<Record<string, unknown>>;

/** The settings of a task file, with those of the files that it includes; {} for a file that cannot be read so. */
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

/** Reads YAML as far as names are concerned. The harness says what is wrong with a file whose task is asked for. */
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
