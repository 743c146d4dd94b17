import { execFile, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { prepareTasks, shippedTasks } from '../../src/study/evaluation/data/prepare-tasks.js';
import { headlineMetric, taskOf } from '../../src/study/evaluation/data/task-facts.js';
import { temporaryDirectory } from '../fixtures/checkpoints.js';
import { mgsmFixtureLanguages, writeFlores, writeMgsm } from '../fixtures/evaluation-data.js';

const { LAYERLOOM_PYTHON: python, LAYERLOOM_MGSM: mgsm } = process.env;
const hasHarness = python !== undefined && spawnSync(python, ['-c', 'import lm_eval']).status === 0;

const ask = async (mode: string, request: object): Promise<unknown> => {
  const script = fileURLToPath(new URL('tasks.py', import.meta.url));
  const offline = { ...process.env, HF_HUB_OFFLINE: '1', HF_DATASETS_CACHE: temporaryDirectory() };
  const child = promisify(execFile)(python ?? '', [script, mode], { env: offline, maxBuffer: 2 ** 26 });
  child.child.stdin?.end(JSON.stringify(request));
  return JSON.parse((await child).stdout.trim().split('\n').at(-1) ?? '');
};

const taskFile = (name: string) => join(shippedTasks, `${name}.yaml`);

describe.skipIf(!hasHarness)('the task files in lm-eval (LAYERLOOM_PYTHON with lm_eval 0.4.13)', () => {
  it('all load, with their filters, metrics and licence', async () => {
    const files = readdirSync(shippedTasks).filter((file) => file.endsWith('.yaml'));
    expect(files).toHaveLength(23);
    const tasks = (await ask('load', { files: files.map((file) => join(shippedTasks, file)) })) as Record<
      string,
      { prompt: string; filters: string[]; metrics: string[]; metadata: { license: string }; until: string[] }
    >;
    expect(Object.keys(tasks).sort()).toEqual(files.map((file) => file.replace('.yaml', '')).sort());
    for (const [name, { prompt, filters, metrics, metadata, until }] of Object.entries(tasks)) {
      expect(metadata.license, name).toBe('CC BY 4.0');
      const results = filters.flatMap((filter) => metrics.map((metric) => `${metric},${filter}`));
      expect(results, name).toContain(headlineMetric(name, results));
      if (/mgsm_..$/.test(name)) {
        expect(filters).toEqual(['strict-match', 'flexible-extract', 'last-number']);
        // The exemplars as they are, in their order.
        expect(prompt).toMatch(/^Q1\nA1\n\nQ2\nA2\n\n[\s\S]*Q8\nA8\n\n.*question\n.*[:：]$/);
        const words = prompt.split('\n').at(-2) ?? '';
        expect(until.some((stop) => words.startsWith(stop))).toBe(true);
      }
      if (name.includes('ppl')) {
        expect(prompt).toBe('question');
        expect(metrics.includes('word_perplexity'), name).toBe(!/_(ja|th|zh)$/.test(name));
      }
      if (name.includes('mbpp')) {
        expect(prompt).toMatch(
          /^You are an expert.*\[DONE\]\n\nYou are.* task: description .*t3\n\[BEGIN\]\n$/s,
        );
        expect(until).toEqual(['[DONE]']);
      }
    }
  });

  const cases: [response: string, answer: string, right: boolean][] = [
    ['The answer is 1125.', '1125', true],
    ['The answer is $1,125', '1125', true],
    ['1000 + 125 = 1125 dollars.', '1125', true],
    ['so 1,125.00', '1125', true],
    ['答えは１，１２５です。', '1125', true],
    ['答え：１１２５円', '1125', true],
    ['উত্তর হল ১,১২৫।', '1125', true],
    ['উত্তর হল ১১২৫টি।', '1125', true],
    ['సమాధానం ౧౧౨౫.', '1125', true],
    ['జవాబు ౧,౧౨౫ డాలర్లు', '1125', true],
    ['ответ ١٬١٢٥', '1125', true],
    ['1125-0=1125個', '1125', true],
    ['2000-1125', '1125', true],
    ['It is -1,125.', '−1125', false],
    ['答えは－１１２５です。', '−1125', false],
    ['112.5', '112·5', false],
    ['1125.5', '1125·5', false],
    ['1,14,200', '114200', false],
    ['11,25', '25', false],
    ['3:30', '30', false],
    ['007.50', '7·5', false],
    ['1125 m²', '1125', true],
    ['no number', '[invalid]', false],
    ['', '[invalid]', false],
  ];

  it('find the last number of a response, whatever its digits', async () => {
    const answers = (await ask('answers', {
      file: taskFile('layerloom_mgsm_bn'),
      target: 1125,
      responses: cases.map(([response]) => response),
    })) as { [filter: string]: { answer: string; exact_match: number } }[];
    expect(
      answers.map((filters, index) => [
        cases[index]?.[0],
        filters['last-number']?.answer,
        filters['last-number']?.exact_match === 1,
      ]),
    ).toEqual(cases);
    // The harness's filters stay unchanged: they read no Bengali digits.
    expect(answers[6]?.['flexible-extract']).toEqual({ answer: '[invalid]', exact_match: 0 });
    expect(answers[0]?.['flexible-extract']).toEqual({ answer: '1125.', exact_match: 1 });
  });

  it('group by full stops and spaces where the language does', async () => {
    const answers = (await ask('answers', {
      file: taskFile('layerloom_mgsm_de'),
      target: 1125,
      responses: ['Die Antwort lautet 1.125.', '1 125 €', '1,125', '1.125,00', '1,5', '0,125', '1125'],
    })) as { [filter: string]: { answer: string } }[];
    expect(answers.map((filters) => filters['last-number']?.answer)).toEqual([
      '1125',
      '1125',
      '1125',
      '1125',
      '1·5',
      '0·125',
      '1125',
    ]);
  });
});

describe.skipIf(!hasHarness)(
  'tasks with local data (LAYERLOOM_PYTHON; LAYERLOOM_MGSM for MGSM itself)',
  () => {
    const comparePrompts = async (
      data: string,
      languages: readonly string[],
      numbers: readonly number[],
      rows: number,
    ): Promise<void> => {
      const names = ['direct', 'native_cot', 'en_cot'].flatMap((kind) =>
        languages.map((language) => `mgsm_${kind}_${language}`),
      );
      const into = join(temporaryDirectory(), 'prepared');
      const { failures } = await prepareTasks(names, { data }, into);
      expect(failures.size).toBe(0);
      const files = names.map((name) => join(into, `${name}.yaml`));
      const tasks = (await ask('prompts', { files, data, numbers, rows })) as Record<
        string,
        { own: string[]; prepared: string[]; same_version: boolean; same_filters: boolean }
      >;
      for (const name of names) {
        expect(tasks[name], name).toMatchObject({ same_version: true, same_filters: true });
        expect(new Set(tasks[name]?.own).size, name).toBe(rows);
        expect(tasks[name]?.prepared, name).toEqual(tasks[name]?.own);
      }
    };

    it('have the prompts of the harness’s own', async () => {
      const data = writeMgsm(join(temporaryDirectory(), 'data'), 12);
      const numbers = Array.from({ length: 8 }, (_, index) => index + 24);
      await comparePrompts(data, mgsmFixtureLanguages, numbers, 12);
    });

    it.skipIf(mgsm === undefined)('have them for MGSM as published (50 rows a language)', async () => {
      await comparePrompts(mgsm ?? '', ['bn', 'en', 'ja', 'sw', 'te'], [11, 29, 39, 9, 33, 8, 8, 5], 50);
    });

    const runHarness = async (tasks: readonly string[], data: string, rows: readonly number[]) => {
      const folder = temporaryDirectory();
      const { includePaths, environment } = await prepareTasks(tasks, { data }, join(folder, 'tasks'));
      expect(environment).toMatchObject({ HF_HUB_OFFLINE: '1', HF_DATASETS_OFFLINE: '1' });
      const samples = JSON.stringify(Object.fromEntries(tasks.map((task) => [task, rows])));
      const args = ['--model', 'dummy', '--tasks', tasks.join(','), '--num_fewshot', '8', '--log_samples'];
      const out = join(folder, 'out');
      await promisify(execFile)(
        python ?? '',
        [
          '-m',
          'lm_eval',
          'run',
          ...args,
          '--samples',
          samples,
          '--include_path',
          includePaths[0] ?? '',
          '--output_path',
          out,
        ],
        { env: { ...process.env, ...environment }, maxBuffer: 2 ** 26 },
      );
      const [model = ''] = readdirSync(out);
      const files = readdirSync(join(out, model));
      const read = (name: string) =>
        readFileSync(join(out, model, files.find((file) => file.startsWith(name)) ?? name), 'utf8');
      const { results } = JSON.parse(read('results_')) as { results: Record<string, object> };
      return new Map(
        tasks.map((task) => {
          const lines = read(`samples_${task}_2`).trim().split('\n');
          const ids = lines.map((line) => (JSON.parse(line) as { doc_id: number }).doc_id);
          return [
            task,
            { headline: headlineMetric(task, Object.keys(results[task] ?? {})), rows: [...new Set(ids)] },
          ];
        }),
      );
    };

    it('run in lm_eval with no network, and number problems by their rows', async () => {
      const data = writeFlores(writeMgsm(join(temporaryDirectory(), 'data')));
      const tasks = ['mgsm_direct_sw', 'layerloom_flores_eng_jpn', 'layerloom_flores_jpn_eng'];
      expect(await runHarness(tasks, data, [1])).toEqual(
        new Map([
          ['mgsm_direct_sw', { headline: 'exact_match,flexible-extract', rows: [1] }],
          ['layerloom_flores_eng_jpn', { headline: 'bleu_char,none', rows: [1] }],
          ['layerloom_flores_jpn_eng', { headline: 'bleu,none', rows: [1] }],
        ]),
      );
    });

    it.skipIf(mgsm === undefined)('run so for MGSM as published', async () => {
      const languages = ['bn', 'en', 'ja', 'sw', 'te'];
      const tasks = languages.flatMap((code) => [`layerloom_mgsm_${code}`, `layerloom_mgsm_ppl_${code}`]);
      for (const [task, result] of await runHarness(tasks, mgsm ?? '', [200, 249]))
        expect(result, task).toEqual({ headline: taskOf(task)?.headline[0], rows: [200, 249] });
    });
  },
);
