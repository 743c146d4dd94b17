import { join } from 'node:path';
import * as z from 'zod';
import { LayerloomError } from '../../../../core/base/errors/errors.js';
import { groupBy } from '../../../../core/base/errors/lookup.js';
import { readJsonRows } from './json-rows.js';
import { mgsmLanguages } from './languages.js';
import { type LocalTask, requiredFile, type WrittenRows, writeRows } from './local-task.js';
import { mmluSubjects } from './mmlu-subjects.js';

// Multiple-choice benchmarks from local JSON lines, with the columns of the hub's data sets.
// `tasks/local_rows.py` replaces the rows of the harness's own tasks.

const text = z.string().min(1);
const subject = z.enum(mmluSubjects as [string, ...string[]]);

/** A row of `facebook/belebele`. */
const belebeleRow = z.object({
  flores_passage: text,
  question: text,
  mc_answer1: text,
  mc_answer2: text,
  mc_answer3: text,
  mc_answer4: text,
  correct_answer_num: z.union([z.enum(['1', '2', '3', '4']), z.int().min(1).max(4).transform(String)]),
});

/** A row of `CohereForAI/Global-MMLU`. */
const globalMmluRow = z.object({
  subject,
  question: text,
  option_a: text,
  option_b: text,
  option_c: text,
  option_d: text,
  answer: z.enum(['A', 'B', 'C', 'D']),
});

/** A row of `cais/mmlu`, configuration `all`. */
const mmluRow = z.object({
  subject,
  question: text,
  choices: z.array(z.string()).length(4),
  answer: z.int().min(0).max(3),
});

const belebele = (task: string, language: string): LocalTask => ({
  benchmark: 'BELEBELE',
  template: 'local_belebele_template',
  write: async (data, into) => {
    const name = `${language}.jsonl`;
    const file = await requiredFile(task, data, [`belebele/${name}`, `belebele/data/${name}`, name]);
    const rows = await readJsonRows(file, belebeleRow);
    const test = await writeRows(join(into, `${task}.jsonl`), rows);
    return new Map([[task, { files: { test }, problems: rows.length }]]);
  },
});

/** Each subject is a task of the group. */
const bySubject = async <Row extends { readonly subject: string }>(
  group: string,
  folder: string,
  schema: z.ZodType<Row>,
  [data, into]: readonly [data: string, into: string],
): Promise<ReadonlyMap<string, WrittenRows>> => {
  const files = new Map<string, WrittenRows>();
  for (const split of ['test', 'dev'] as const) {
    const file = await requiredFile(group, data, [`${folder}/${split}.jsonl`]);
    const rows = groupBy(await readJsonRows(file, schema), (row) => row.subject);
    for (const name of mmluSubjects) {
      const own = rows.get(name);
      if (own === undefined)
        throw new LayerloomError('DATA_INVALID', { file, reason: `no rows of the subject ${name}` });
      const task = `${group}_${name}`;
      const written = await writeRows(join(into, `${task}.${split}.jsonl`), own);
      const before = files.get(task);
      files.set(task, {
        files: { ...before?.files, [split]: written },
        problems: split === 'test' ? own.length : (before?.problems ?? 0),
      });
    }
  }
  return files;
};

const mmlu: LocalTask = {
  benchmark: 'MMLU',
  template: 'local_mmlu_template',
  write: (data, into) => bySubject('mmlu', 'mmlu', mmluRow, [data, into]),
};

const globalMmlu = (task: string, code: string): LocalTask => ({
  benchmark: 'Global-MMLU',
  template: 'local_global_mmlu_template',
  write: (data, into) => bySubject(task, `global_mmlu/${code}`, globalMmluRow, [data, into]),
});

export const localChoiceTask = (task: string): LocalTask | undefined => {
  if (task === 'mmlu') return mmlu;
  for (const { code, flores } of mgsmLanguages) {
    if (task === `belebele_${flores}`) return belebele(task, flores);
    if (task === `global_mmlu_full_${code}` && code !== 'th') return globalMmlu(task, code);
  }
  return undefined;
};
