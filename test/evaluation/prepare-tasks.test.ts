import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { mgsmLanguages } from '../../src/study/evaluation/data/local/languages.js';
import { readExemplars } from '../../src/study/evaluation/data/local/mgsm-data.js';
import { prepareTasks, shippedTasks } from '../../src/study/evaluation/data/prepare-tasks.js';
import { temporaryDirectory } from '../fixtures/checkpoints.js';
import { writeFlores, writeMgsm } from '../fixtures/evaluation-data.js';

const rowsOf = (file: string): Record<string, unknown>[] =>
  readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);

interface TaskFile {
  include: string;
  task: string;
  dataset_kwargs: { data_files: { train?: string; test: string } };
}

const taskFile = (into: string, task: string): TaskFile =>
  parse(readFileSync(join(into, `${task}.yaml`), 'utf8')) as TaskFile;

const folders = () => {
  const root = temporaryDirectory();
  return { data: writeFlores(writeMgsm(join(root, 'data'))), into: join(root, 'prepared') };
};

describe('with local data, tasks', () => {
  it('differ from the package’s in the data set alone', async () => {
    const { data, into } = folders();
    const { includePaths, failures, notes } = await prepareTasks(['layerloom_mgsm_sw'], { data }, into);
    expect({ includePaths, failures: failures.size, notes }).toEqual({
      includePaths: [into],
      failures: 0,
      notes: [],
    });
    expect(taskFile(into, 'layerloom_mgsm_sw')).toEqual({
      include: join(shippedTasks, 'layerloom_mgsm_sw.yaml'),
      task: 'layerloom_mgsm_sw',
      dataset_path: 'json',
      dataset_name: null,
      dataset_kwargs: {
        data_files: {
          train: join(into, 'data/mgsm_sw.train.jsonl'),
          test: join(into, 'data/mgsm_sw.test.jsonl'),
        },
      },
    });
  });

  it('of the harness keep its name, and find its file when they run', async () => {
    const { data, into } = folders();
    await prepareTasks(['mgsm_direct_ja'], { data }, into);
    expect(taskFile(into, 'mgsm_direct_ja')).toMatchObject({
      include: join(shippedTasks, 'local_template'),
      task: 'mgsm_direct_ja',
    });
  });

  it('have problems and exemplars with the hub’s fields', async () => {
    const { data, into } = folders();
    await prepareTasks(['layerloom_mgsm_en'], { data }, into);
    const { train = '', test } = taskFile(into, 'layerloom_mgsm_en').dataset_kwargs.data_files;
    expect(rowsOf(test)[0]).toEqual({
      question: 'There are 2 "red" pens and 3 blue ones. How many pens are there?',
      answer: null,
      answer_number: 5,
      equation_solution: null,
    });
    expect(rowsOf(test).at(-1)).toMatchObject({ answer_number: 1125 });
    expect(rowsOf(train)).toHaveLength(8);
    expect(rowsOf(train)[0]).toEqual({
      question: 'Question: There are 20 "red" pens and 4 blue ones. How many pens are there?',
      answer: 'Step-by-Step Answer: 20+4=24. The answer is 24.',
      answer_number: 24,
      equation_solution: null,
    });
  });

  it('of perplexity need no exemplars', async () => {
    const { data, into } = folders();
    writeFileSync(join(data, 'exemplars.json'), '');
    const { failures } = await prepareTasks(['layerloom_mgsm_ppl_ja', 'layerloom_mgsm_ja'], { data }, into);
    expect([...failures.keys()]).toEqual(['layerloom_mgsm_ja']);
    expect(Object.keys(taskFile(into, 'layerloom_mgsm_ppl_ja').dataset_kwargs.data_files)).toEqual(['test']);
  });

  it('need no exemplars without worked examples', async () => {
    const { data, into } = folders();
    rmSync(join(data, 'exemplars.json'));
    const shots: Record<string, number> = { layerloom_mgsm_en: 0, layerloom_mgsm_ja: 8 };
    const fewshotOf = (task: string) => shots[task];
    const { failures } = await prepareTasks(Object.keys(shots), { data, fewshotOf }, into);
    expect([...failures.keys()]).toEqual(['layerloom_mgsm_ja']);
    const { train, test } = taskFile(into, 'layerloom_mgsm_en').dataset_kwargs.data_files;
    expect(train).toBe(test);
  });

  it('of translation pair the lines of two languages', async () => {
    const { data, into } = folders();
    await prepareTasks(['layerloom_flores_jpn_eng'], { data }, into);
    const file = taskFile(into, 'layerloom_flores_jpn_eng');
    expect(file).toMatchObject({
      include: join(shippedTasks, 'flores_template'),
      doc_to_text: 'Japanese sentence: {{source}}\nEnglish sentence:',
    });
    const { test } = file.dataset_kwargs.data_files;
    expect(rowsOf(test)).toEqual([
      { source: 'ペンは赤い。', target: 'The pen is red.' },
      { source: '海は広い。', target: 'The sea is wide.' },
    ]);
  });

  it('of translation into languages without spaces also have BLEU of characters', async () => {
    const { data, into } = folders();
    for (const name of ['tha_Thai', 'zho_Hans', 'deu_Latn'])
      writeFileSync(join(data, 'devtest', `${name}.devtest`), 'a\nb\n');
    const targets = ['jpn', 'tha', 'zho', 'deu'];
    const tasks = targets.map((target) => `layerloom_flores_eng_${target}`);
    expect((await prepareTasks(tasks, { data }, into)).failures.size).toBe(0);
    expect(tasks.map((task) => basename(taskFile(into, task).include))).toEqual([
      ...targets.slice(0, 3).map(() => 'flores_characters_template'),
      'flores_template',
    ]);
  });

  it('keep the harness off the network only if all are local', async () => {
    const { data, into } = folders();
    const alone = await prepareTasks(['mgsm_direct_sw', 'layerloom_mgsm_de'], { data }, into);
    expect(alone.environment).toEqual({
      HF_HUB_OFFLINE: '1',
      HF_DATASETS_OFFLINE: '1',
      HF_DATASETS_CACHE: join(into, 'cache'),
    });
    const mixed = await prepareTasks(['mgsm_direct_sw', 'belebele_swh_Latn'], { data }, into);
    expect(mixed.environment).toEqual({});
    expect(mixed.notes).toEqual([`BELEBELE takes its data from the hub: ${data} has no file of it`]);
  });
});

describe('without local data, tasks', () => {
  it('are the package’s own files', async () => {
    const into = join(temporaryDirectory(), 'prepared');
    expect(await prepareTasks(['layerloom_mgsm_sw', 'mmlu'], {}, into)).toMatchObject({
      includePaths: [shippedTasks],
      environment: {},
    });
    expect(await prepareTasks(['mgsm_direct_sw'], {}, into)).toMatchObject({ includePaths: [] });
    expect(existsSync(into)).toBe(false);
  });

  it('of translation cannot run', async () => {
    const { failures } = await prepareTasks(['layerloom_flores_eng_swh'], {}, temporaryDirectory());
    expect(failures.get('layerloom_flores_eng_swh')).toMatchObject({ code: 'DATA_MISSING' });
  });
});

describe('bad data', () => {
  const failureOf = async (task: string, spoil: (data: string) => void) => {
    const { data, into } = folders();
    spoil(data);
    return (await prepareTasks([task, 'mgsm_direct_en'], { data }, into)).failures.get(task);
  };

  it('of one language leave the others', async () => {
    const { data, into } = folders();
    const tasks = ['layerloom_mgsm_th', 'layerloom_mgsm_en', 'layerloom_flores_eng_tel'];
    const { failures } = await prepareTasks(tasks, { data }, into);
    expect([...failures].map(([task, { message }]) => [task, message])).toEqual([
      ['layerloom_mgsm_th', `layerloom_mgsm_th needs mgsm_th.tsv; put it into ${data}, or remove the task`],
      [
        'layerloom_flores_eng_tel',
        `layerloom_flores_eng_tel needs tel_Telu.devtest; put it into ${data}, or remove the task`,
      ],
    ]);
    expect(taskFile(into, 'layerloom_mgsm_en').task).toBe('layerloom_mgsm_en');
  });

  it.each([
    ['no tab', 'question 5'],
    ['two tabs', 'question\t5\t6'],
    ['no question', '\t5'],
    ['no answer', 'question\t'],
    ['a fraction', 'question\t5.5'],
    ['commas that group nothing', 'question\t5,55'],
    ['an empty line', ''],
  ])('are named by file and line: %s', async (_, line) => {
    const error = await failureOf('layerloom_mgsm_sw', (data) =>
      writeFileSync(join(data, 'mgsm_sw.tsv'), `Swali\t5\r\n${line}\nSwali\t6\n`),
    );
    expect(error?.message).toMatch(/mgsm_sw\.tsv:2: expected a question, one tab and a whole number, got /);
  });

  it.each([
    ['no JSON', '{', /is not JSON/],
    ['another form', '{"sw": {"1": {"q": "Swali"}}}', /sw\.1\.a: /],
    ['an answer without a number', '{"sw": {"1": {"q": "Swali", "a": "Jibu"}}}', /an answer has a number/],
    ['another language', '{"te": {}}', /no exemplars of sw/],
  ])('are named in exemplars.json: %s', async (_, text, message) => {
    const error = await failureOf('mgsm_direct_sw', (data) =>
      writeFileSync(join(data, 'exemplars.json'), text),
    );
    expect(error).toMatchObject({ code: 'DATA_INVALID', message: expect.stringMatching(message) });
  });

  it('are translations of different lengths, or empty ones', async () => {
    const short = await failureOf('layerloom_flores_eng_jpn', (data) =>
      writeFileSync(join(data, 'jpn_Jpan.devtest'), 'ペンは赤い。\n'),
    );
    expect(short?.message).toMatch(/jpn_Jpan\.devtest: 1 lines, though .*eng_Latn\.devtest has 2/);
    const empty = await failureOf('layerloom_flores_eng_jpn', (data) =>
      writeFileSync(join(data, 'jpn_Jpan.devtest'), 'ペンは赤い。\n \n'),
    );
    expect(empty?.message).toMatch(/jpn_Jpan\.devtest:2: the line is empty/);
  });
});

it('exemplars stand in the order of their numbers', async () => {
  const file = join(temporaryDirectory(), 'exemplars.json');
  const one = { q: 'q', a: 'The answer is 1.' };
  writeFileSync(file, JSON.stringify({ en: { 10: { ...one, q: 'tenth' }, 2: { ...one, q: 'second' } } }));
  expect((await readExemplars(file, 'en'))?.map(({ question }) => question)).toEqual(['second', 'tenth']);
});

describe('the task files of the package', () => {
  const files = readdirSync(shippedTasks).filter((file) => file.endsWith('.yaml'));

  it.each(mgsmLanguages.map(({ code }) => code))('are there for %s, with licence and filters', (code) => {
    const read = (name: string) =>
      parse(readFileSync(join(shippedTasks, name), 'utf8'), { logLevel: 'error' });
    expect(files).toEqual(
      expect.arrayContaining([`layerloom_mgsm_${code}.yaml`, `layerloom_mgsm_ppl_${code}.yaml`]),
    );
    const task = read(`layerloom_mgsm_${code}.yaml`);
    expect(task).toMatchObject({
      task: `layerloom_mgsm_${code}`,
      dataset_name: code,
      metadata: {
        license: 'CC BY 4.0',
        status: ['bn', 'en', 'ja', 'sw', 'te'].includes(code)
          ? 'run offline in the tests'
          : 'defined, not run',
      },
    });
    expect(task.filter_list.map(({ name }: { name: string }) => name)).toEqual([
      'strict-match',
      'flexible-extract',
      'last-number',
    ]);
  });

  it('name only files that are shipped with them', () => {
    for (const file of files) {
      const text = readFileSync(join(shippedTasks, file), 'utf8');
      const [, template = ''] = /^include: (.+)$/m.exec(text) ?? [];
      expect(existsSync(join(shippedTasks, template)), file).toBe(true);
      for (const [, module = ''] of text.matchAll(/!function (\w+)\./g))
        expect(existsSync(join(shippedTasks, `${module}.py`)), file).toBe(true);
    }
  });
});
