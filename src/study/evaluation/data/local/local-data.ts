import { join } from 'node:path';
import { LayerloomError } from '../../../../core/base/errors/errors.js';
import { localChoiceTask } from './choice-data.js';
import { floresTaskNames, localFloresTask } from './flores-task.js';
import { mgsmLanguages } from './languages.js';
import { firstThere, type LocalTask, requiredFile, type WrittenRows, writeRows } from './local-task.js';
import { localMbppTask, mbppTaskNames } from './mbpp-data.js';
import { readExemplars, readProblems } from './mgsm-data.js';

const mgsmCodes = mgsmLanguages.map(({ code }) => code).join('|');
const mgsmNames = new RegExp(
  `^(?:(?<own>layerloom_mgsm(?<ppl>_ppl)?)|mgsm_(?:direct|native_cot|en_cot))_(?<code>${mgsmCodes})$`,
);

const mgsm = (task: string, code: string, withExemplars: boolean): LocalTask['write'] => {
  const filesIn = async (data: string, into: string, shots: number | undefined): Promise<WrittenRows> => {
    const placesOf = (name: string): [string, string] => [name, `mgsm/${name}`];
    const required = (name: string) => requiredFile(task, data, placesOf(name));
    const problems = await readProblems(await required(`mgsm_${code}.tsv`));
    const test = await writeRows(join(into, `mgsm_${code}.test.jsonl`), problems);
    if (!withExemplars) return { files: { test }, problems: problems.length };
    // The harness opens the split of worked examples even if it takes none of them.
    if (shots === 0 && (await firstThere(data, placesOf('exemplars.json'))) === undefined)
      return { files: { train: test, test }, problems: problems.length };
    const file = await required('exemplars.json');
    const exemplars = await readExemplars(file, code);
    if (exemplars === undefined)
      throw new LayerloomError('DATA_INVALID', { file, reason: `no exemplars of ${code}` });
    const train = await writeRows(join(into, `mgsm_${code}.train.jsonl`), exemplars);
    return { files: { train, test }, problems: problems.length };
  };
  return async (data, into, shots) => new Map([[task, await filesIn(data, into, shots)]]);
};

/** Returns undefined if only the hub has the task's data. */
export const localTaskOf = (task: string): LocalTask | undefined => {
  const { own, ppl, code } = mgsmNames.exec(task)?.groups ?? {};
  if (code !== undefined)
    return {
      benchmark: 'MGSM',
      template: own === undefined ? 'local_mgsm_template' : `${task}.yaml`,
      write: mgsm(task, code, ppl === undefined),
    };
  return localFloresTask(task) ?? localMbppTask(task) ?? localChoiceTask(task);
};

/** True if the task may be one of the harness's own. */
export const isHarnessTask = (task: string): boolean =>
  !mgsmNames.test(task) && !floresTaskNames.includes(task) && !mbppTaskNames.includes(task);

const ownTasks: readonly string[] = [
  ...['layerloom_mgsm', 'layerloom_mgsm_ppl'].flatMap((kind) =>
    mgsmLanguages.map(({ code }) => `${kind}_${code}`),
  ),
  ...floresTaskNames,
  ...mbppTaskNames,
];

/** If `task` is a misspelt task of the package, returns the package's tasks. */
export const misspelt = (task: string): readonly string[] | undefined =>
  task.startsWith('layerloom_') && !ownTasks.includes(task) ? ownTasks : undefined;

/** True if the hub has no data. */
export const isLocalOnly = (task: string): boolean => localTaskOf(task)?.needed !== undefined;
