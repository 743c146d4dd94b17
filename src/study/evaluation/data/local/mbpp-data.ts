import { join } from 'node:path';
import * as z from 'zod';
import { LayerloomError } from '../../../../core/base/errors/errors.js';
import { readJsonRows } from './json-rows.js';
import { mgsmLanguages } from './languages.js';
import { type DataFiles, type LocalTask, requiredFile, writeRows } from './local-task.js';

const text = z.string().min(1);

/** Row of `google-research-datasets/mbpp`, configuration `full`, and of `mbpp.jsonl`. */
const mbppRow = z.object({
  task_id: z.int().min(1),
  /** The problem's description; translations replace it. */
  text,
  code: text,
  /** Three tests, shown in the prompt and used for the score. */
  test_list: z.array(text).min(3),
});

type MbppRow = z.output<typeof mbppRow>;

const testSet = { first: 11, last: 510 } as const;

const exampleIds: readonly number[] = [2, 3, 4];

const invalidData = (file: string, reason: string): LayerloomError =>
  new LayerloomError('DATA_INVALID', { file, reason });

/** Returns the test set, and few-shot examples if the file has them. */
const readMbpp = async (
  file: string,
  shots: number = exampleIds.length,
): Promise<{ readonly problems: readonly MbppRow[]; readonly examples: readonly MbppRow[] }> => {
  const rows = await readJsonRows(file, mbppRow);
  const byId = new Map<number, MbppRow>();
  for (const [index, row] of rows.entries()) {
    if (byId.has(row.task_id))
      throw new LayerloomError('DATA_INVALID', {
        file,
        line: index + 1,
        reason: `task_id ${row.task_id} again`,
      });
    byId.set(row.task_id, row);
  }
  const problems = rows.filter(({ task_id: id }) => id >= testSet.first && id <= testSet.last);
  if (problems.length === 0)
    throw invalidData(file, `no problems of the test set (task_id ${testSet.first} to ${testSet.last})`);
  const found = exampleIds.flatMap((id) => byId.get(id) ?? []);
  const examples = found.length === exampleIds.length ? found : [];
  if (shots > 0 && examples.length === 0)
    throw invalidData(file, 'it lacks problems 2, 3 and 4, the worked examples; add them, or set fewshot: 0');
  if (shots > exampleIds.length)
    throw invalidData(file, `MBPP has three worked examples, but fewshot: asks for ${shots}`);
  return { problems, examples };
};

/** Tasks in all languages; the hub has only English data. */
export const mbppTaskNames: readonly string[] = mgsmLanguages.map(({ code }) => `layerloom_mbpp_${code}`);

export const localMbppTask = (task: string): LocalTask | undefined => {
  if (!mbppTaskNames.includes(task)) return undefined;
  const code = task.slice(-2);
  const name = `mbpp/${code}.jsonl`;
  const published = code === 'en' ? ['mbpp/mbpp.jsonl', 'mbpp.jsonl'] : [];
  return {
    benchmark: 'MBPP',
    template: 'mbpp_template',
    ...(code === 'en' ? {} : { needed: name }),
    settingsFor: ({ train }: DataFiles) =>
      train === undefined
        ? {}
        : {
            fewshot_split: 'train',
            fewshot_config: { sampler: 'first_n', doc_to_target: '{{code}}\n[DONE]' },
          },
    write: async (data, into, shots) => {
      const file = await requiredFile(task, data, [name, ...published]);
      const { problems, examples } = await readMbpp(file, shots);
      const test = await writeRows(join(into, `${task}.test.jsonl`), problems);
      if (examples.length === 0) return new Map([[task, { files: { test }, problems: problems.length }]]);
      const train = await writeRows(join(into, `${task}.train.jsonl`), examples);
      return new Map([[task, { files: { train, test }, problems: problems.length }]]);
    },
  };
};
