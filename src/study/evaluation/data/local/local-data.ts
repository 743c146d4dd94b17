import { join } from 'node:path';
import { LayerloomError } from '../../../../core/base/errors/errors.js';
import { itemAt, propertyAt } from '../../../../core/base/errors/lookup.js';
import { benchmarks, tasksOf } from '../benchmarks.js';
import { matchTask } from '../task-facts.js';
import { floresTaskNames, localFloresTask } from './flores-task.js';
import { localHarnessTask } from './harness-rows.js';
import { mgsmLanguages, spelledBy } from './languages.js';
import { firstThere, type LocalTask, requiredFile, type WrittenRows, writeRows } from './local-task.js';
import { localMbppTask, mbppTaskNames } from './mbpp-data.js';
import { readExemplars, readProblems, readVariants } from './mgsm-data.js';

const mgsmCodes = mgsmLanguages.map(({ code }) => code).join('|');
const mgsmNames = new RegExp(
  `^(?:(?<own>layerloom_mgsm(?:_(?<kind>ppl|rev2|pro))?)|mgsm_(?:direct|native_cot|en_cot))_(?<code>${mgsmCodes})$`,
);

/** Benchmarks like MGSM, with the file names to try; files may also lie directly in the data directory. */
const sets: Readonly<Record<string, (code: string) => readonly [string, ...string[]]>> = {
  mgsm: (code) => [`mgsm_${code}.tsv`, `mgsm/mgsm_${code}.tsv`],
  rev2: (code) => [`mgsm_rev2/mgsm_${code}.tsv`, `MGSM-Rev2/mgsm_${code}.tsv`],
  pro: (code) => {
    const name = itemAt(spelledBy('code', code), 0).name;
    return [`mgsm_pro/symbolic/${name}.jsonl`];
  },
};

const mgsm = (task: string, code: string, set: string, withExemplars: boolean): LocalTask['write'] => {
  const filesIn = async (data: string, into: string, shots: number | undefined): Promise<WrittenRows> => {
    const exemplarsAt = ['exemplars.json', 'mgsm/exemplars.json'] as const;
    const from = await requiredFile(task, data, propertyAt(sets, set)(code));
    const problems = from.endsWith('.jsonl') ? await readVariants(from) : await readProblems(from);
    const test = await writeRows(join(into, `${set}_${code}.test.jsonl`), problems);
    if (!withExemplars) return { files: { test }, problems: problems.length };
    // The harness opens the split of worked examples even if it takes none.
    if (shots === 0 && (await firstThere(data, exemplarsAt)) === undefined)
      return { files: { train: test, test }, problems: problems.length };
    const file = await requiredFile(task, data, exemplarsAt);
    const exemplars = await readExemplars(file, code);
    if (exemplars === undefined)
      throw new LayerloomError('DATA_INVALID', { file, reason: `no exemplars of ${code}` });
    const train = await writeRows(join(into, `${set}_${code}.train.jsonl`), exemplars);
    return { files: { train, test }, problems: problems.length };
  };
  return async (data, into, shots) => new Map([[task, await filesIn(data, into, shots)]]);
};

const isDeclared = (task: string): boolean => matchTask(task) !== undefined;

/** Returns a task with local data; undefined if its data can only come from the hub. */
export const localTaskOf = (task: string): LocalTask | undefined => {
  const { own, kind, code } = mgsmNames.exec(task)?.groups ?? {};
  if (code !== undefined && isDeclared(task)) {
    const set = kind !== undefined && kind !== 'ppl' ? kind : 'mgsm';
    return {
      benchmark: set === 'mgsm' ? 'MGSM' : set === 'rev2' ? 'MGSM-Rev2' : 'MGSM-Pro',
      template:
        own === undefined
          ? 'local_template'
          : set === 'mgsm'
            ? `${task}.yaml`
            : `layerloom_mgsm_${code}.yaml`,
      ...(set === 'mgsm' ? {} : { needed: itemAt(propertyAt(sets, set)(code), 0) }),
      ...(own === undefined ? { settingsFor: () => ({ metadata: { layerloom_folder: 'mgsm' } }) } : {}),
      write: mgsm(task, code, set, kind !== 'ppl'),
    };
  }
  return localFloresTask(task) ?? localMbppTask(task) ?? localHarnessTask(task);
};

export const isHarnessTask = (task: string): boolean =>
  !mgsmNames.test(task) && !floresTaskNames.includes(task) && !mbppTaskNames.includes(task);

const ownTasks: readonly string[] = [
  ...(['mgsm', 'perplexity', 'mgsm-rev2', 'mgsm-pro'] as const).flatMap((name) =>
    benchmarks[name].languages.flatMap((language) => tasksOf(benchmarks[name], language)),
  ),
  ...floresTaskNames,
  ...mbppTaskNames,
];

/** If `task` misspells one of our tasks, returns our tasks. */
export const misspelt = (task: string): readonly string[] | undefined =>
  task.startsWith('layerloom_') && !ownTasks.includes(task) ? ownTasks : undefined;

/** True if the hub lacks the task's data. */
export const isLocalOnly = (task: string): boolean => localTaskOf(task)?.needed !== undefined;
