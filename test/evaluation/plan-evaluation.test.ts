import { readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { describeEvaluationPlan, describeScoring } from '../../src/cli/text/studies/evaluation-text.js';
import {
  type EvaluationProgress,
  evaluateExperiment,
  planEvaluation,
  runExperiment,
} from '../../src/index.js';
import { cli } from '../fixtures/cli.js';
import { stubHarness } from '../fixtures/evaluation-errors.js';
import { writeExperiment } from '../fixtures/experiment.js';

vi.setConfig({ testTimeout: 180_000 });

const lmEval = stubHarness;

const made = async () => {
  const { root, file, out } = writeExperiment(
    '\n  - {name: default, method: layer_swap, bottom: 2, top: 1}\n',
    {
      layers: 4,
    },
  );
  const evaluate = { tasks: { swahili: ['mgsm_direct_sw', 'stub_perplexity'] }, limit: 4 };
  writeFileSync(file, `${readFileSync(file, 'utf8')}\nevaluate: ${JSON.stringify(evaluate)}\n`);
  await runExperiment(file, { out });
  return { root, file, out };
};

const filesIn = (directory: string): string[] =>
  readdirSync(directory, { recursive: true })
    .map((name) => `${String(name)} ${statSync(join(directory, String(name))).mtimeMs}`)
    .sort();

describe('a planned evaluation', () => {
  it('says that nothing has been measured, and what would measure it', async () => {
    const { out } = await made();
    const before = filesIn(out);
    const plan = await planEvaluation(out, { lmEval });
    expect(filesIn(out)).toEqual(before);
    expect(plan).toMatchObject({ kept: 0, there: 0, seconds: null, measured: 0, failed: [], impossible: [] });
    expect(plan.models.map(({ name }) => name)).toEqual([
      ...['base', 'math-1', 'math-2', 'swh-1', 'swh-2'],
      ...['1+swh-1', '1+swh-2', '2+swh-1', '2+swh-2'].map((pair) => `swahili/math-${pair}/default`),
    ]);
    expect(plan.tasks.map(({ task, models, problems }) => [task, models, problems])).toEqual([
      ['mgsm_direct_sw', 9, 36],
      ['stub_perplexity', 9, 36],
    ]);
    expect(describeEvaluationPlan(plan, 'study')).toContain(
      'unknown, because mgsm_direct_sw, stub_perplexity was not measured here; to measure: `layerloom evaluate study --only base --limit 20`',
    );
    const printed =
      describeEvaluationPlan(plan, out)
        .match(/`layerloom (.*)`/)?.[1]
        ?.split(' ') ?? [];
    expect(await cli([...printed, '--lm-eval', lmEval])).toMatchObject({ code: 0 });
    expect((await planEvaluation(out, { lmEval })).seconds).toBeGreaterThan(0);
  });

  it('counts what is left once some models have results, and takes its hours from theirs', async () => {
    const { out } = await made();
    await evaluateExperiment(out, { lmEval, only: ['base', 'math-1'] });
    const plan = await planEvaluation(out, { lmEval, jobs: 2 });
    expect(plan).toMatchObject({ kept: 2, there: 4, measured: 4, jobs: 2 });
    expect(plan.models).toHaveLength(7);
    // The harness took 1.5 s for the eight problems of a model.
    expect(plan.seconds).toBeCloseTo((7 * 1.5) / 2, 10);
    expect(describeEvaluationPlan(plan, out)).toContain(
      'time to score: 5.3 s with 2 models at once, by 4 results of this directory',
    );
    expect(await planEvaluation(out, { lmEval, only: ['swh-*'] })).toMatchObject({
      models: [{ name: 'swh-1' }, { name: 'swh-2' }],
      seconds: 3,
    });
    expect((await planEvaluation(out, { lmEval, force: true })).models).toHaveLength(9);
  });

  it('counts merges of equal weights once, which are scored once', async () => {
    const { file, out } = writeExperiment(
      '\n  - {name: default, method: layer_swap, bottom: 2, top: 1}\n  - {name: again, method: layer_swap, layers: [[2, 1]]}\n',
      { layers: 4 },
    );
    const evaluate = { tasks: { swahili: 'mgsm_direct_sw' }, limit: 4 };
    writeFileSync(file, `${readFileSync(file, 'utf8')}\nevaluate: ${JSON.stringify(evaluate)}\n`);
    await runExperiment(file, { out });
    const plan = await planEvaluation(out, { lmEval });
    expect(plan.models).toHaveLength(13);
    expect(plan.tasks).toMatchObject([{ task: 'mgsm_direct_sw', models: 9, problems: 36 }]);
    expect(plan.order).toHaveLength(9);
    const again = await planEvaluation(out, { lmEval, force: true });
    expect(again.tasks).toMatchObject([{ models: 13, problems: 52 }]);
  });

  it('leaves out a result that is half written, whose model is scored again', async () => {
    const { out } = await made();
    await evaluateExperiment(out, { lmEval, only: ['base'] });
    const folder = join(out, 'evaluations');
    const [name = ''] = readdirSync(folder).filter((file) =>
      /^mgsm_direct_sw-[0-9a-f]{16}\.json$/.test(file),
    );
    writeFileSync(join(folder, name), readFileSync(join(folder, name), 'utf8').slice(0, 100));
    const plan = await planEvaluation(out, { lmEval });
    expect(plan.models[0]).toEqual({ name: 'base', tasks: ['mgsm_direct_sw'], isThere: true });
    expect(plan.seconds).toBeNull();
  });

  it('names merges that are not there, models that cannot be read and tasks that no harness knows', async () => {
    const { root, out } = await made();
    rmSync(join(out, 'swahili/math-1+swh-1/default'), { recursive: true });
    renameSync(join(root, 'swh-2'), join(root, 'elsewhere'));
    const plan = await planEvaluation(out, { lmEval });
    expect(plan.models.filter(({ isThere }) => !isThere).map(({ name }) => name)).toEqual([
      'swahili/math-1+swh-1/default',
    ]);
    expect(plan.failed.map(({ model, code }) => [model, code])).toEqual([['swh-2', 'MODEL_NOT_FOUND']]);
    const { code, stdout, stderr } = await cli(['evaluate', out, '--dry-run', '--lm-eval', lmEval]);
    expect([code, stderr]).toEqual([4, expect.stringContaining('swh-2')]);
    expect(stdout).toContain('not made yet, scored when a batch has made them: 1');
  });
});

describe('the progress of an evaluation', () => {
  it('has the requests of the run under way, and the time left once a model has ended', async () => {
    const { out } = await made();
    vi.stubEnv('STUB_BARS', 'math-1');
    const seen: EvaluationProgress[] = [];
    await evaluateExperiment(out, {
      lmEval,
      only: ['math-1', 'math-2'],
      onProgress: (progress) => seen.push(progress),
    });
    vi.unstubAllEnvs();
    expect(seen[0]).toMatchObject({
      done: 0,
      total: 2,
      running: ['math-1'],
      requests: [],
      secondsLeft: null,
    });
    expect(seen.flatMap(({ requests }) => requests)).toContainEqual({ model: 'math-1', done: 3, total: 4 });
    expect(seen.find(({ running }) => running[0] === 'math-2')).toMatchObject({
      done: 1,
      secondsLeft: 1.5,
    });
    expect(seen.at(-1)).toMatchObject({ done: 2, running: [], requests: [], secondsLeft: 0 });
  });

  it('is one line', () => {
    const progress = { done: 1, failed: 0, total: 9, waiting: 3, secondsLeft: 4000 };
    const running = ['a', 'b', 'c', 'd'];
    expect(describeScoring({ ...progress, running, requests: [{ model: 'b', done: 3, total: 250 }] })).toBe(
      '1 of 9 models done; 1 h 6 min left; scoring a, b (3 of 250 requests), c and 1 more',
    );
    expect(describeScoring({ ...progress, running: [], requests: [], secondsLeft: null })).toBe(
      '1 of 9 models done; waiting for 3',
    );
    const all = { done: 9, failed: 9, total: 9, waiting: 0, secondsLeft: 0 };
    expect(describeScoring({ ...all, running: [], requests: [] })).toBe(
      '9 of 9 models done, 9 of them failed',
    );
  });
});
