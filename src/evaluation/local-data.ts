import { access, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { LayerloomError } from '../base/errors.js';
import { propertyAt } from '../base/lookup.js';
import { readFlores } from './flores-data.js';
import { floresLanguages, mgsmLanguages } from './languages.js';
import { readExemplars, readProblems } from './mgsm-data.js';

/** Files of rows by split, as `datasets` takes them under `data_files`. */
export type DataFiles = Readonly<Record<string, string>>;

/** A task whose rows can come from a local directory. */
export interface LocalTask {
  /** File in the package's `tasks/` that the task is made from. */
  readonly template: string;
  /**
   * Writes the task's rows as JSON lines.
   *
   * @param data the directory with the data as it was published
   * @param into where the files are written, absolute
   * @throws LayerloomError DATA_MISSING, DATA_INVALID
   */
  readonly write: (data: string, into: string) => Promise<DataFiles>;
}

const exists = (file: string): Promise<boolean> =>
  access(file).then(
    () => true,
    () => false,
  );

const mgsmCodes = mgsmLanguages.map(({ code }) => code).join('|');
const mgsmNames = new RegExp(
  `^(?:(?<own>layerloom_mgsm(?<ppl>_ppl)?)|mgsm_(?:direct|native_cot|en_cot))_(?<code>${mgsmCodes})$`,
);
const floresCodes = Object.keys(floresLanguages).join('|');
const floresNames = new RegExp(`^layerloom_flores_(?<source>${floresCodes})_(?<target>${floresCodes})$`);

const writeRows = async (file: string, rows: readonly object[]): Promise<string> => {
  await writeFile(file, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  return file;
};

const mgsm = (task: string, code: string, withExemplars: boolean): LocalTask['write'] => {
  const required = async (data: string, name: string): Promise<string> => {
    const file = join(data, name);
    if (!(await exists(file)))
      throw new LayerloomError('DATA_MISSING', { task, file: name, directory: data });
    return file;
  };
  return async (data, into) => {
    const problems = await readProblems(await required(data, `mgsm_${code}.tsv`));
    if (!withExemplars) return { test: await writeRows(join(into, `mgsm_${code}.test.jsonl`), problems) };
    const file = await required(data, 'exemplars.json');
    const exemplars = await readExemplars(file, code);
    if (exemplars === undefined)
      throw new LayerloomError('DATA_INVALID', { file, reason: `no exemplars of ${code}` });
    return {
      train: await writeRows(join(into, `mgsm_${code}.train.jsonl`), exemplars),
      test: await writeRows(join(into, `mgsm_${code}.test.jsonl`), problems),
    };
  };
};

const flores = (task: string, source: string, target: string): LocalTask['write'] => {
  // The published archive has a folder for each split.
  const required = async (data: string, language: string): Promise<string> => {
    const name = `${propertyAt(floresLanguages, language)}.devtest`;
    for (const file of [join(data, name), join(data, 'devtest', name)]) if (await exists(file)) return file;
    throw new LayerloomError('DATA_MISSING', { task, file: name, directory: data });
  };
  return async (data, into) => {
    const rows = await readFlores(await required(data, source), await required(data, target));
    return { test: await writeRows(join(into, `${task}.jsonl`), rows) };
  };
};

/** Returns how a task takes its rows from a local directory; undefined for tasks that only the hub has data of. */
export const localTaskOf = (task: string): LocalTask | undefined => {
  const { own, ppl, code } = mgsmNames.exec(task)?.groups ?? {};
  if (code !== undefined)
    return {
      template: own === undefined ? 'local_mgsm_template' : `${task}.yaml`,
      write: mgsm(task, code, ppl === undefined),
    };
  const { source, target } = floresNames.exec(task)?.groups ?? {};
  if (source !== undefined && target !== undefined && source !== target && [source, target].includes('eng'))
    return { template: `${task}.yaml`, write: flores(task, source, target) };
  return undefined;
};

/** Names of the package's own tasks: the files of `tasks/`. */
const ownTasks: readonly string[] = [
  ...['layerloom_mgsm', 'layerloom_mgsm_ppl'].flatMap((kind) =>
    mgsmLanguages.map(({ code }) => `${kind}_${code}`),
  ),
  ...Object.keys(floresLanguages)
    .filter((code) => code !== 'eng')
    .flatMap((code) => [`layerloom_flores_eng_${code}`, `layerloom_flores_${code}_eng`]),
];

/** Returns the names of the package's tasks, if a task is called as one of them and is none. */
export const misspelt = (task: string): readonly string[] | undefined =>
  task.startsWith('layerloom_') && !ownTasks.includes(task) ? ownTasks : undefined;

/** Tells whether a task has no data but local ones. */
export const isLocalOnly = (task: string): boolean => floresNames.test(task);
