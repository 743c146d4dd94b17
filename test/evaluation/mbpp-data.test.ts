import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { checkTaskData } from '../../src/api/task-data.js';
import { prepareTasks, shippedTasks } from '../../src/study/evaluation/data/prepare-tasks.js';
import { temporaryDirectory } from '../fixtures/checkpoints.js';
import { mbppRow, writeFlores, writeMbpp } from '../fixtures/evaluation-data.js';

const consent = { confirmRunUnsafeCode: true };
const [english, swahili] = ['layerloom_mbpp_en', 'layerloom_mbpp_sw'];

const folders = () => {
  const root = temporaryDirectory();
  return { data: writeMbpp(join(root, 'data')), into: join(root, 'prepared') };
};

const fileOf = (into: string, task: string) =>
  parse(readFileSync(join(into, `${task}.yaml`), 'utf8')) as {
    include: string;
    fewshot_split?: string;
    fewshot_config?: object;
    dataset_kwargs: { data_files: Record<string, string> };
  };

const rowsOf = (file = ''): Record<string, unknown>[] =>
  readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);

describe('MBPP from a directory', () => {
  it('has the test set as problems, and 2 to 4 as worked examples, in the language', async () => {
    const { data, into } = folders();
    const prepared = await prepareTasks([english, swahili], { data, ...consent }, into);
    expect(prepared.failures.size).toBe(0);
    expect(prepared.environment).toMatchObject({ HF_HUB_OFFLINE: '1' });
    expect(prepared.notes).toEqual([
      `${english}, ${swahili}: runs programs that models wrote, with your permissions`,
    ]);
    const file = fileOf(into, swahili);
    expect(file).toMatchObject({
      include: join(shippedTasks, 'mbpp_template'),
      fewshot_split: 'train',
      fewshot_config: { sampler: 'first_n', doc_to_target: '{{code}}\n[DONE]' },
    });
    const { train, test } = file.dataset_kwargs.data_files;
    expect(rowsOf(test).map(({ task_id: id }) => id)).toEqual([11, 12, 13]);
    expect(rowsOf(train).map(({ task_id: id }) => id)).toEqual([2, 3, 4]);
    const { text, code, test_list: tests } = mbppRow(11, 'Andika kitendakazi kinachoongeza 11 kwa namba.');
    expect(rowsOf(test)[0]).toEqual({ task_id: 11, text, code, test_list: tests });
  });

  it('needs no worked examples where none are asked for', async () => {
    const { data, into } = folders();
    writeFileSync(join(data, 'mbpp/sw.jsonl'), `${JSON.stringify(mbppRow(11))}\n`);
    const reasonWith = async (shots: number | undefined) =>
      (await prepareTasks([swahili], { data, ...consent, fewshotOf: () => shots }, into)).failures.get(
        swahili,
      )?.message;
    expect(await reasonWith(0)).toBeUndefined();
    expect(fileOf(into, swahili)).not.toHaveProperty('fewshot_split');
    for (const shots of [undefined, 1])
      expect(await reasonWith(shots)).toContain('it lacks problems 2, 3 and 4, the worked examples');
  });

  it('has no more than three', async () => {
    const { data, into } = folders();
    const { failures } = await prepareTasks([english], { data, ...consent, fewshotOf: () => 8 }, into);
    expect(failures.get(english)?.message).toContain('MBPP has three worked examples');
  });

  it.each([
    ['no JSON', '{', /sw\.jsonl:1: is not JSON/],
    [
      'two tests',
      JSON.stringify({ ...mbppRow(11), test_list: ['assert 1', 'assert 2'] }),
      /column test_list/,
    ],
    ['the form of sanitized MBPP', JSON.stringify({ ...mbppRow(11), text: undefined }), /column text/],
    ['a number as text', JSON.stringify({ ...mbppRow(11), task_id: '11' }), /column task_id/],
    [
      'a problem again',
      [mbppRow(11), mbppRow(11)].map((row) => JSON.stringify(row)).join('\n'),
      /:2: task_id 11 again/,
    ],
    ['the training set alone', JSON.stringify(mbppRow(601)), /no problems of the test set/],
  ])('is named by file and line where it is wrong: %s', async (_, text, message) => {
    const { data, into } = folders();
    writeFileSync(join(data, 'mbpp/sw.jsonl'), `${text}\n`);
    const { failures } = await prepareTasks([english, swahili], { data, ...consent }, into);
    expect([...failures].map(([task, { code }]) => [task, code])).toEqual([[swahili, 'DATA_INVALID']]);
    expect(failures.get(swahili)?.message).toMatch(message);
  });

  it('is listed by what is there', async () => {
    const { data } = folders();
    const { tasks } = await checkTaskData(data);
    expect(
      tasks.filter(({ state }) => state === 'there').map(({ task, problems }) => [task, problems]),
    ).toEqual([
      [english, 3],
      [swahili, 3],
    ]);
  });

  it('is refused without consent', async () => {
    const { data, into } = folders();
    const { failures } = await prepareTasks([english, swahili], { data }, into);
    expect([...failures.values()].map(({ code }) => code)).toEqual(['CODE_NOT_ALLOWED', 'CODE_NOT_ALLOWED']);
  });
});

describe('MBPP without local data', () => {
  it('is on the hub in English, and nowhere in other languages', async () => {
    const into = temporaryDirectory();
    const { failures, includePaths } = await prepareTasks([english, swahili], consent, into);
    expect([...failures].map(([task, { message }]) => [task, message])).toEqual([
      [swahili, expect.stringContaining('needs mbpp/sw.jsonl; name the directory that has it by `data:`')],
    ]);
    expect(includePaths).toEqual([shippedTasks]);
  });

  it('leaves English alone to the hub where a directory has none of it', async () => {
    const { data, into } = folders();
    rmSync(join(data, 'mbpp'), { recursive: true });
    const tasks = [english, swahili, 'layerloom_flores_eng_jpn'];
    const { failures, notes } = await prepareTasks(tasks, { data: writeFlores(data), ...consent }, into);
    expect([...failures].map(([task, { code }]) => [task, code])).toEqual([[swahili, 'DATA_MISSING']]);
    expect(notes[0]).toBe(`MBPP takes its data from the hub: ${data} has no file of it`);
  });
});
