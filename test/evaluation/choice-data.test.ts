import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { prepareTasks, shippedTasks } from '../../src/study/evaluation/data/prepare-tasks.js';
import { temporaryDirectory } from '../fixtures/checkpoints.js';
import { writeChoices, writeFlores, writeMgsm } from '../fixtures/evaluation-data.js';

const folders = () => {
  const root = temporaryDirectory();
  return { data: writeChoices(join(root, 'data')), into: join(root, 'prepared') };
};

const choices = ['belebele_swh_Latn', 'global_mmlu_full_sw', 'mmlu'];

const fileOf = (into: string, task: string) =>
  parse(readFileSync(join(into, `${task}.yaml`), 'utf8')) as {
    include: string;
    dataset_kwargs: { data_files: Record<string, string> };
  };

const linesOf = (file = ''): unknown[] =>
  readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown);

describe('multiple-choice tasks of the harness', () => {
  it('take the rows of a directory, of groups those of each subject', async () => {
    const { data, into } = folders();
    const { failures, notes, environment } = await prepareTasks(choices, { data }, into);
    expect([failures.size, notes]).toEqual([0, []]);
    expect(environment).toMatchObject({ HF_DATASETS_OFFLINE: '1' });
    const belebele = fileOf(into, 'belebele_swh_Latn');
    expect(belebele.include).toBe(join(shippedTasks, 'local_template'));
    expect(linesOf(belebele.dataset_kwargs.data_files['test'])).toHaveLength(8);
    for (const group of ['mmlu', 'global_mmlu_full_sw']) {
      const { data_files: files } = fileOf(into, `${group}_virology`).dataset_kwargs;
      expect(linesOf(files['test'])).toHaveLength(2);
      expect(linesOf(files['dev'])).toHaveLength(5);
      for (const row of linesOf(files['dev'])) expect(row).toMatchObject({ subject: 'virology' });
    }
  });

  it.each([
    [
      'belebele_swh_Latn',
      'belebele/swh_Latn.jsonl',
      '{"question": "q"}',
      /swh_Latn.jsonl:1: column flores_passage/,
    ],
    ['mmlu', 'mmlu/dev.jsonl', '{', /dev.jsonl:1: is not JSON/],
    [
      'global_mmlu_full_sw',
      'global_mmlu/sw/test.jsonl',
      '{"subject": "riddles"}',
      /test.jsonl:1: column subject/,
    ],
  ])('%s say which line of %s is wrong, and leave the others', async (task, file, line, message) => {
    const { data, into } = folders();
    writeFileSync(join(data, file), `${line}\n`);
    const { failures } = await prepareTasks(choices, { data }, into);
    expect([...failures].map(([name, { code }]) => [name, code])).toEqual([[task, 'DATA_INVALID']]);
    expect(failures.get(task)?.message).toMatch(message);
  });

  it('need rows of every subject', async () => {
    const { data, into } = folders();
    const file = join(data, 'mmlu/dev.jsonl');
    const lines = readFileSync(file, 'utf8').split('\n');
    writeFileSync(file, lines.filter((line) => !line.includes('"virology"')).join('\n'));
    const { failures } = await prepareTasks(['mmlu'], { data }, into);
    expect(failures.get('mmlu')?.message).toContain('no rows with the subject virology');
  });
});

describe('a directory with the data of some benchmarks', () => {
  it('leaves the others to the hub, and says so', async () => {
    const root = temporaryDirectory();
    const data = writeFlores(join(root, 'data'));
    const tasks = ['layerloom_flores_eng_jpn', 'layerloom_mgsm_sw', 'belebele_swh_Latn'];
    const into = join(root, 'prepared');
    const { failures, notes, environment, includePaths } = await prepareTasks(tasks, { data }, into);
    expect([...failures]).toEqual([]);
    // The harness finds the package's own hub tasks there too.
    expect(includePaths).toEqual([into]);
    expect(fileOf(into, 'layerloom_mgsm_sw')).toEqual({
      include: join(shippedTasks, 'layerloom_mgsm_sw.yaml'),
      task: 'layerloom_mgsm_sw',
    });
    expect(environment).toEqual({});
    expect(notes).toEqual(
      ['MGSM', 'BELEBELE'].map((name) => `${name} takes its data from the hub: ${data} has no file of it`),
    );
  });

  it('may have each in a folder of its own', async () => {
    const root = temporaryDirectory();
    writeMgsm(join(root, 'mgsm'));
    writeFlores(join(root, 'flores'));
    const tasks = ['layerloom_flores_eng_jpn', 'layerloom_mgsm_sw'];
    const { failures, notes } = await prepareTasks(tasks, { data: root }, join(root, 'prepared'));
    expect([failures.size, notes]).toEqual([0, []]);
  });

  it('does not, where a language or all data are missing', async () => {
    const { data, into } = folders();
    rmSync(join(data, 'belebele'), { recursive: true });
    const missing = async (tasks: string[], from = data) => [
      ...(await prepareTasks(tasks, { data: from }, into)).failures.keys(),
    ];
    expect(await missing(['belebele_swh_Latn', 'belebele_eng_Latn'])).toHaveLength(2);
    expect(await missing(['global_mmlu_full_sw', 'global_mmlu_full_te'])).toEqual(['global_mmlu_full_te']);
    expect(await missing(['layerloom_mgsm_sw'], temporaryDirectory())).toEqual(['layerloom_mgsm_sw']);
  });
});
