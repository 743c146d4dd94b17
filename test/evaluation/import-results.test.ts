import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { evaluateExperiment, importResults, runExperiment, scoreTables } from '../../src/index.js';
import { ResultFiles } from '../../src/study/evaluation/result-files.js';
import { parseEvaluation } from '../../src/study/evaluation/settings.js';
import { lackingSamples } from '../../src/study/experiment/scoring/requests/wanted-results.js';
import { stubHarness } from '../fixtures/evaluation-errors.js';
import { recordIn, writeExperiment } from '../fixtures/experiment.js';

const task = 'mgsm_direct_sw';
const metric = 'exact_match,flexible-extract';

const made = async () => {
  const { root, file, out } = writeExperiment('  - {name: default, method: layer_swap, bottom: 2, top: 1}', {
    layers: 4,
  });
  writeFileSync(file, `${readFileSync(file, 'utf8')}\nevaluate: {tasks: {swahili: ${task}}}\n`);
  await runExperiment(file, { out });
  return { root, out, from: join(root, 'elsewhere') };
};

interface Given {
  readonly model: string;
  readonly score: number;
  /** Minutes from now, after the weights were written. */
  readonly minutes?: number;
  readonly [key: string]: unknown;
}

const writeResults = (folder: string, { model, score, minutes = 1, ...more }: Given): void => {
  mkdirSync(folder, { recursive: true });
  const { limit = null, name = task, ...others } = more;
  const whole = {
    results: { [String(name)]: { alias: name, [metric]: score } },
    'n-samples': { [String(name)]: { original: 250, effective: 25 } },
    config: {
      ...{ model: 'hf', model_args: { pretrained: model }, limit },
      ...{ random_seed: 0, numpy_seed: 1234, torch_seed: 1234, fewshot_seed: 1234 },
    },
    date: Date.now() / 1000 + 60 * minutes,
    ...others,
  };
  writeFileSync(join(folder, 'results_2026-01-01T00-00-00.000000.json'), JSON.stringify(whole));
};

describe('importing results', () => {
  it('finds the model by the end of a path of another machine: a merge’s whole name, a reference’s folder', async () => {
    const { out, from } = await made();
    const merge: string = recordIn(out).merges[0].name;
    for (const [index, model] of ['/disk/base', `/disk/study/${merge}`, '/disk/study/default'].entries())
      writeResults(join(from, `${index}`), { model, score: 0.5 });
    const { imported, failed } = await importResults(out, from);
    expect(imported.map(({ model }) => model).sort()).toEqual(['base', merge]);
    expect(failed.map(({ message }) => message)).toEqual([
      expect.stringContaining('the experiment has no model /disk/study/default'),
    ]);
  });

  it('takes the newest of several for the same question, wherever it lies', async () => {
    const { root, out, from } = await made();
    const model = join(root, 'base');
    writeResults(join(from, 'a'), { model, score: 0.5, minutes: 2 });
    writeResults(join(from, 'b'), { model, score: 0.25, minutes: 1 });
    const outcome = await importResults(out, from);
    expect(outcome.imported).toHaveLength(1);
    const score = () => recordIn(out).references[0].scores[task].metrics[metric];
    expect(score()).toBe(0.5);
    await importResults(out, join(from, 'b'));
    expect(score()).toBe(0.5);
  });

  it('warns of results with other shots or another seed, which are no scores of the experiment', async () => {
    const { root, out, from } = await made();
    writeFileSync(
      join(out, 'experiment.json'),
      JSON.stringify({ ...recordIn(out), evaluate: { tasks: { swahili: task }, fewshot: 8 } }),
    );
    writeResults(from, { model: join(root, 'base'), score: 0.5, 'n-shot': { [task]: 5 } });
    const { warnings } = await importResults(out, from);
    expect(warnings).toEqual([
      expect.stringMatching(/has 5 shots, seed .*; the experiment asks for 8 shots/),
    ]);
    expect(recordIn(out).references[0].scores).toBeUndefined();
  });

  it('takes a limit that cuts nothing for all rows, and all rows for such a limit', async () => {
    const { root, out, from } = await made();
    const counts = { 'n-samples': { [task]: { original: 250, effective: 250 } } };
    writeResults(from, { model: join(root, 'base'), score: 0.5, limit: 250, ...counts });
    await importResults(out, from);
    expect(recordIn(out).references[0].scores[task].rows).toBeNull();
    const within = async (asked: object) => {
      const { references, ...record } = recordIn(out);
      const before = references.map(({ scores: _scores, ...reference }: { scores: object }) => reference);
      const evaluate = { tasks: { swahili: task }, ...asked };
      writeFileSync(
        join(out, 'experiment.json'),
        JSON.stringify({ ...record, references: before, evaluate }),
      );
      await importResults(out, from);
      const { evaluate: settings } = recordIn(out);
      const list = await new ResultFiles(out).list();
      const { weights } = list[0]?.result ?? { weights: '' };
      const lacks = lackingSamples(list, weights, task, parseEvaluation(settings, '/')).length > 0;
      return [recordIn(out).references[0].scores?.[task] !== undefined, !lacks];
    };
    expect(await within({ limit: 1000 })).toEqual([true, true]);
    expect(await within({ limit: 250 })).toEqual([true, true]);
    expect(await within({ limit: 249 })).toEqual([true, false]);
    expect(await within({ problems: '0-249' })).toEqual([true, true]);
    expect(await within({ problems: '0-248' })).toEqual([false, false]);
  });

  it('keeps results of one model under two chat templates apart, and warns of models under several', async () => {
    const { root, out, from } = await made();
    const of = (name: string, chat_template_sha: string | null, minutes = 1) =>
      writeResults(join(from, `${name}${minutes}`), {
        ...{ model: join(root, name), score: 0.5, minutes, chat_template_sha },
      });
    of('base', 'a');
    of('base', 'b', 2);
    of('math-1', 'a');
    const { imported } = await importResults(out, from);
    expect(imported).toHaveLength(3);
    const { warnings } = await scoreTables(out);
    expect(warnings).toContainEqual(
      `${task}: 1 model has results under one chat template and system prompt, without samples, but 1 under another (math-1); means include all prompts, but models with different prompts are not compared. \`layerloom evaluate ${out} --force --only math-1\` scores these again`,
    );
    of('base', 'a', 3);
    await importResults(out, from);
    expect((await scoreTables(out)).warnings.join()).not.toContain('chat template');
  });

  it('takes a limit below 1 for a share of the rows', async () => {
    const { root, out, from } = await made();
    writeResults(from, { model: join(root, 'base'), score: 0.5, limit: 0.1 });
    await importResults(out, from);
    expect(recordIn(out).references[0].scores[task].rows).toEqual([0, 25]);
  });

  it('says which results have nothing that the experiment asks for, or no time', async () => {
    const { root, out, from } = await made();
    writeResults(join(from, 'a'), { model: join(root, 'base'), score: 0.5, name: 'gsm8k' });
    writeResults(join(from, 'b'), { model: join(root, 'base'), score: 0.5, date: 'yesterday' });
    writeResults(join(from, 'c'), { model: join(root, 'math-1'), score: 0.5 });
    const { imported, failed } = await importResults(out, from);
    expect(imported).toHaveLength(1);
    expect(failed.map(({ code }) => code)).toEqual(['RESULTS_FOREIGN', 'RESULTS_INVALID']);
    expect(failed[0]?.message).toContain(`evaluate: asks base for ${task}, but it has gsm8k`);
    expect(failed[1]?.message).toContain('has no valid time: date is yesterday');
  });
});

it('samples that have a problem twice are refused', async () => {
  const { root, out, from } = await made();
  writeResults(from, { model: join(root, 'base'), score: 0.5 });
  const sample = {
    ...{ doc_id: 3, doc: { question: 'q' }, target: '1', doc_hash: 'd', prompt_hash: 'p', target_hash: 't' },
    ...{ filter: 'flexible-extract', metrics: ['exact_match'], exact_match: 1 },
  };
  const lines = [1, 0].map((exact_match) => `${JSON.stringify({ ...sample, exact_match })}\n`);
  writeFileSync(join(from, `samples_${task}_2026-01-01T00-00-00.000000.jsonl`), lines.join(''));
  const { imported, failed } = await importResults(out, from);
  expect(imported).toEqual([]);
  expect(failed[0]?.message).toContain('line 2 has problem 3 a second time');
});

describe('an experiment that was merged before there were evaluations', () => {
  it('gets the scores of its merges, whose entries do not say which weights they have', async () => {
    const { out } = await made();
    const { merges, ...record } = recordIn(out);
    const before = merges.map(({ weights: _weights, ...merge }: { weights: string }) => merge);
    writeFileSync(join(out, 'experiment.json'), JSON.stringify({ ...record, merges: before }));
    const { failed } = await evaluateExperiment(out, { lmEval: stubHarness, only: ['*/default'] });
    expect(failed).toEqual([]);
    for (const merge of recordIn(out).merges) expect(Object.keys(merge.scores)).toEqual([task]);
  });
});

describe('a result of which the problems were removed', () => {
  it('is made again', async () => {
    const { out } = await made();
    const only = ['base'];
    await evaluateExperiment(out, { lmEval: stubHarness, only });
    const folder = join(out, 'evaluations');
    for (const name of readdirSync(folder).filter((each) => each.endsWith('.problems.json')))
      rmSync(join(folder, name));
    expect(await evaluateExperiment(out, { lmEval: stubHarness, only })).toMatchObject({ scored: only });
    expect(await evaluateExperiment(out, { lmEval: stubHarness, only })).toMatchObject({ kept: only });
  });
});

describe('importing what others have made', () => {
  const name = 'results_2026-01-01T00-00-00.000000.json';
  const samples = `samples_${task}_2026-01-01T00-00-00.000000.jsonl`;

  it.each<[string, (folder: string, model: string) => void, RegExp]>([
    [
      'a group that is its own task',
      (folder, model) => writeResults(folder, { model, score: 0.5, group_subtasks: { [task]: [task] } }),
      /among the tasks of the group/,
    ],
    [
      'a model that is no text',
      (folder) => writeResults(folder, { model: { toString: 1 } as never, score: 0.5 }),
      /config\.model_args/,
    ],
    [
      'a version that is no text',
      (folder, model) =>
        writeResults(folder, { model, score: 0.5, versions: { [task]: { toString: null } } }),
      /versions/,
    ],
    [
      'a task whose name leaves the folder',
      (folder, model) => writeResults(folder, { model, score: 0.5, group_subtasks: { [task]: ['../x'] } }),
      /group_subtasks/,
    ],
    ['a limit below 0', (folder, model) => writeResults(folder, { model, score: 0.5, limit: -5 }), /limit/],
    [
      'a pipe for its results',
      (folder) => {
        mkdirSync(folder, { recursive: true });
        execFileSync('mkfifo', [join(folder, name)]);
      },
      /is a pipe/,
    ],
    [
      'a pipe for its samples',
      (folder, model) => {
        writeResults(folder, { model, score: 0.5 });
        execFileSync('mkfifo', [join(folder, samples)]);
      },
      /is a pipe/,
    ],
    [
      'a device for its samples',
      (folder, model) => {
        writeResults(folder, { model, score: 0.5 });
        symlinkSync('/dev/zero', join(folder, samples));
      },
      /is a device/,
    ],
    [
      'a row below 0',
      (folder, model) => {
        writeResults(folder, { model, score: 0.5 });
        const hashes = { doc_hash: 'a', prompt_hash: 'b', target_hash: 'c' };
        writeFileSync(join(folder, samples), JSON.stringify({ doc_id: -3, metrics: [], ...hashes }));
      },
      /not a sample/,
    ],
  ])('refuses a file with %s, and takes the others', async (_, write, message) => {
    const { root, out, from } = await made();
    const model = join(root, 'base');
    write(join(from, 'bad'), model);
    writeResults(join(from, 'good'), { model, score: 0.5 });
    const { imported, failed } = await importResults(out, from);
    expect(imported.map(({ model: of }) => of)).toEqual(['base']);
    expect(failed).toEqual([
      {
        file: expect.stringContaining('/bad/'),
        code: 'RESULTS_INVALID',
        message: expect.stringMatching(message),
      },
    ]);
  });

  it('takes the tasks of groups that share groups once, in linear time', async () => {
    const { root, out, from } = await made();
    const next = (index: number) => (index === 59 ? 'leaf' : `g${index + 1}`);
    const shared = Array.from({ length: 60 }, (_, index) => [
      index === 0 ? task : `g${index}`,
      [next(index), next(index)],
    ]);
    writeResults(from, { model: join(root, 'base'), score: 0.5, group_subtasks: Object.fromEntries(shared) });
    expect((await importResults(out, from)).imported).toHaveLength(1);
  });
});

describe('the results of an experiment', () => {
  it('are left out with a warning where they are a pipe, or none', async () => {
    const { out } = await made();
    mkdirSync(join(out, 'evaluations'));
    const [pipe, other] = ['0', '1'].map((digit) =>
      join(out, 'evaluations', `${task}-${digit.repeat(16)}.json`),
    );
    execFileSync('mkfifo', [pipe ?? '']);
    writeFileSync(other ?? '', JSON.stringify({ weights: 'x', task }));
    const warnings: string[] = [];
    expect(await new ResultFiles(out).list((warning) => warnings.push(warning))).toEqual([]);
    expect(warnings).toEqual([
      expect.stringMatching(/is a pipe/),
      expect.stringMatching(/not a result of layerloom evaluate/),
    ]);
  });
});
