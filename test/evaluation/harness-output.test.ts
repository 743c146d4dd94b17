import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findHarnessResults, readHarnessResults } from '../../src/study/evaluation/harness/harness-output.js';
import { temporaryDirectory } from '../fixtures/checkpoints.js';

const time = '2026-01-02T03-04-05.6';

const written = (
  results: object | string,
  samples: Record<string, readonly (object | string)[]> = {},
): string => {
  const directory = temporaryDirectory();
  const file = join(directory, `results_${time}.json`);
  writeFileSync(file, typeof results === 'string' ? results : JSON.stringify(results));
  for (const [task, lines] of Object.entries(samples))
    writeFileSync(
      join(directory, `samples_${task}_${time}.jsonl`),
      lines.map((line) => `${typeof line === 'string' ? line : JSON.stringify(line)}\n`).join(''),
    );
  return file;
};

const config = {
  ...{ model: 'hf', model_args: 'pretrained=/models/a,dtype=bfloat16', limit: null },
  ...{ random_seed: 0, numpy_seed: 1234, torch_seed: 1234, fewshot_seed: null },
};

const results = (more: object = {}) => ({
  results: { t: { alias: 't', 'acc,none': 0.5, 'acc_stderr,none': 0.5 } },
  ...{ group_subtasks: {}, versions: { t: 1 }, 'n-shot': { t: 5 }, higher_is_better: { t: { acc: true } } },
  ...{
    'n-samples': { t: { original: 2, effective: 2 } },
    config,
    date: 1767323045,
    lm_eval_version: '0.4.13',
  },
  ...more,
});

const sample = (id: number, acc: number, more: object = {}) => ({
  ...{ doc_id: id, doc: { question: `question ${id}` }, target: 'A', filter: 'none', metrics: ['acc'], acc },
  ...{ resps: [[['-1.5', 'False']]], filtered_resps: [['-1.5', 'False']] },
  ...{ arguments: { gen_args_0: { arg_0: 'question', arg_1: ' A' } } },
  ...{ doc_hash: `d${id}`, prompt_hash: `p${id}`, target_hash: `t${id}` },
  ...more,
});

describe('results of the harness', () => {
  it('have figures, problems in the order of rows, and how they were made', async () => {
    const [result] = await readHarnessResults(written(results(), { t: [sample(1, 0), sample(0, 1)] }));
    expect(result).toMatchObject({
      ...{ task: 't', taskVersion: '1', fewshot: 5, seed: '0,1234,1234,None', n: 2, rows: null },
      ...{
        backend: 'hf dtype=bfloat16',
        model: { paths: ['/models/a'], others: [] },
        started: '2026-01-02T03:04:05.000Z',
      },
      metrics: { 'acc,none': 0.5, 'acc_stderr,none': 0.5 },
      texts: { d0: { question: 'question 0', target: 'A' } },
    });
    expect(result?.problems.map(({ id, scores, response }) => [id, scores, response])).toEqual([
      [0, { 'acc,none': 1 }, ''],
      [1, { 'acc,none': 0 }, ''],
    ]);
  });

  it('keep a problem once, with each of its filters', async () => {
    const generated = (filter: string, answer: string, score: number) =>
      sample(0, 0, {
        ...{ filter, metrics: ['exact_match'], exact_match: score },
        ...{
          resps: [['so 7']],
          filtered_resps: [answer],
          arguments: { gen_args_0: { arg_0: 'q', arg_1: { until: [] } } },
        },
      });
    const [result] = await readHarnessResults(
      written(results(), { t: [generated('strict', '[invalid]', 0), generated('flexible', '7', 1)] }),
    );
    expect(result?.problems).toEqual([
      {
        ...{ id: 0, document: 'd0', prompt: 'p0', target: 't0', response: 'so 7' },
        scores: { 'exact_match,strict': 0, 'exact_match,flexible': 1 },
        answers: { strict: '[invalid]', flexible: '7' },
      },
    ]);
  });

  it('of a group have the problems of its tasks', async () => {
    const whole = results({
      results: { group: { 'acc,none': 0.5 }, a: { 'acc,none': 1 }, b: { 'acc,none': 0 } },
      ...{
        group_subtasks: { group: ['a', 'b'] },
        versions: { group: 2, a: 1, b: 1 },
        'n-shot': { a: 5, b: 5 },
      },
      'n-samples': { a: { original: 1, effective: 1 }, b: { original: 1, effective: 1 } },
    });
    const all = await readHarnessResults(
      written(whole, { a: [sample(0, 1)], b: [sample(0, 0, { doc_hash: 'e0' })] }),
    );
    const group = all.find(({ task }) => task === 'group');
    expect(group).toMatchObject({ n: 2, fewshot: 5, taskVersion: '2' });
    expect(group?.problems.map(({ document }) => document)).toEqual(['d0', 'e0']);
  });

  it('are of all rows if the limit cuts none', async () => {
    for (const limit of [2, 3, 0.9]) {
      const [result] = await readHarnessResults(written(results({ config: { ...config, limit } })));
      expect(result?.rows).toBeNull();
    }
  });

  it('without samples, differ by chat template, system prompt and turns', async () => {
    const hashOf = async (more: object, samples = {}) =>
      (await readHarnessResults(written(results(more), samples)))[0]?.promptHash;
    const [chat_template_sha, system_instruction_sha] = ['a', 'a'];
    const hashes = [
      await hashOf({}),
      await hashOf({ chat_template_sha }),
      await hashOf({ chat_template_sha, fewshot_as_multiturn: true }),
      await hashOf({ chat_template_sha: 'b' }),
      await hashOf({ system_instruction_sha }),
    ];
    expect(new Set(hashes).size).toBe(5);
    expect(hashes[0]).toBe('');
    expect(await hashOf({ fewshot_as_multiturn: true, chat_template_sha: null })).toBe('');
    const samples = { t: [sample(0, 1), sample(1, 1)] };
    expect(await hashOf({ chat_template_sha }, samples)).toBe(await hashOf({}, samples));
  });

  it('say which rows were taken: by a limit, or by their numbers', async () => {
    const limited = results({
      config: { ...config, limit: 2 },
      'n-samples': { t: { original: 3, effective: 2 } },
    });
    expect(
      (await readHarnessResults(written(limited, { t: [sample(0, 1), sample(1, 1)] })))[0]?.rows,
    ).toEqual([0, 2]);
    const some = results({ 'n-samples': { t: { original: 250, effective: 2 } } });
    const [result] = await readHarnessResults(written(some, { t: [sample(200, 1), sample(201, 1)] }));
    expect(result?.rows).toEqual([200, 202]);
  });

  it('may hold NaN and Infinity, as Python writes them', async () => {
    const text = JSON.stringify(results()).replace('"acc_stderr,none":0.5', '"acc_stderr,none": NaN');
    const line = JSON.stringify(sample(0, 0.25)).replace('"acc":0.25', '"acc": -Infinity');
    const [result] = await readHarnessResults(written(text, { t: [line] }));
    expect(result?.metrics).toEqual({ 'acc,none': 0.5, 'acc_stderr,none': null });
    expect(result?.problems[0]?.scores).toEqual({});
  });

  it('without samples have figures alone', async () => {
    const [result] = await readHarnessResults(written(results()));
    expect(result).toMatchObject({ n: 2, problems: [], promptHash: '', texts: {} });
  });

  it.each<[string, object | string, Record<string, readonly (object | string)[]>, RegExp]>([
    ['half a results file', JSON.stringify(results()).slice(0, 80), {}, /malformed or half-written/],
    ['no object', '[]', {}, /not a results file of lm_eval/],
    ['no figures', { config }, {}, /lacks results/],
    ['half a sample', results(), { t: ['{"doc_id": 0, "do'] }, /line 1 is not JSON .*half-written/],
    [
      'a sample without hashes',
      results(),
      { t: [sample(0, 1, { doc_hash: undefined })] },
      /line 1 lacks the hashes/,
    ],
    ['a sample that is none', results(), { t: [{ doc_id: 'x' }] }, /line 1 is not a sample/],
  ])('with %s are refused, with file and remedy', async (_, whole, samples, message) => {
    const file = written(whole, samples);
    await expect(readHarnessResults(file)).rejects.toMatchObject({
      code: 'RESULTS_INVALID',
      message: expect.stringMatching(message),
    });
  });

  it('are found below a directory', async () => {
    const file = written(results());
    expect(await findHarnessResults(join(file, '..', '..', file.split('/').at(-2) ?? ''))).toEqual([file]);
  });
});
