import { execSync } from 'node:child_process';
import { cpSync, existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  evaluateExperiment,
  evaluateModels,
  importResults,
  runExperiment,
  scoreTables,
} from '../../src/index.js';
import { lora, writeAdapter } from '../fixtures/adapters.js';
import { llamaShapes } from '../fixtures/checkpoints.js';
import { cli as run } from '../fixtures/cli.js';
import { stubHarness } from '../fixtures/evaluation-errors.js';
import { recordIn, writeExperiment } from '../fixtures/experiment.js';

const [sw, en] = ['mgsm_direct_sw', 'mgsm_direct_en'];
const lmEval = stubHarness;

const rowsOf = async (directory: string, table: string): Promise<string[]> => {
  const { tables } = await scoreTables(directory, { tables: [table] });
  return tables.flatMap(({ rows }) => rows.map(({ label }) => label));
};

describe('models without an experiment', () => {
  it('are scored, and compared in pairs', async () => {
    const { root } = writeExperiment();
    const out = join(root, 'scores');
    const outcome = await evaluateModels([join(root, 'base'), `other=${join(root, 'math-1')}`], {
      ...{ tasks: [sw, en], limit: 10, out, lmEval },
    });
    expect(outcome).toMatchObject({ scored: ['base', 'other'], failed: [], results: { made: 4, there: 0 } });
    expect(await rowsOf(out, 'models')).toEqual(['base', 'other']);
    expect(await rowsOf(out, 'comparisons')).toEqual(['tasks: other minus base', 'tasks: other minus base']);
  });

  it('join those that were scored before, whose results stay', async () => {
    const { root } = writeExperiment();
    const out = join(root, 'scores');
    const of = { tasks: [sw], out, lmEval };
    await evaluateModels([join(root, 'base')], of);
    // A word for a kind of expert is a name like others here.
    cpSync(join(root, 'math-2'), join(root, 'soup'), { recursive: true });
    const second = await evaluateModels([join(root, 'soup'), join(root, 'base')], of);
    expect(second.results).toEqual({ made: 1, there: 1 });
    const third = await evaluateModels([join(root, 'swh-1')], of);
    expect(third).toMatchObject({ scored: ['swh-1'], kept: [], results: { made: 1, there: 0 } });
    expect(await rowsOf(out, 'comparisons')).toEqual([
      'tasks: soup minus base',
      'tasks: swh-1 minus base',
      'tasks: swh-1 minus soup',
    ]);
  });

  it('are planned without a trace, and their results count as there', async () => {
    const { root } = writeExperiment();
    const out = join(root, 'scores');
    const [base, words] = [join(root, 'base'), ['--tasks', sw, '-o', out, '--lm-eval', lmEval]];
    const plan = async (...more: string[]) => JSON.parse((await run(more)).stdout) as object;
    const dry = ['evaluate', base, join(root, 'swh-1'), ...words, '--dry-run', '--json'];
    expect(await plan(...dry)).toMatchObject({ models: [{ name: 'base' }, { name: 'swh-1' }], kept: 0 });
    expect(existsSync(out)).toBe(false);
    await evaluateModels([base], { tasks: [sw], out, lmEval });
    expect(await plan(...dry)).toMatchObject({ models: [{ name: 'swh-1' }], kept: 1, there: 1 });
    const text = (await run(dry.slice(0, -1))).stdout;
    expect(text).toContain('1 model to score; 1 has all results');
  });

  it('have commands that can be run as they are printed, whose results are imported', async () => {
    const { root } = writeExperiment();
    const out = join(root, 'scores');
    const args = ['evaluate', join(root, 'base'), '--tasks', sw, '-o', out, '--lm-eval', lmEval];
    const { code, stdout } = await run([...args, '--print']);
    expect([code, stdout.trimEnd().split('\n').length]).toEqual([0, 1]);
    execSync(stdout, { shell: '/bin/sh', stdio: 'ignore' });
    expect(await run(['evaluate', out, '--import', join(out, 'evaluations')])).toMatchObject({ code: 0 });
    expect(await run([...args, '--print'])).toMatchObject({ stdout: '' });
    expect((await run([...args, '--print', '--dry-run'])).stderr).toContain('give one of them');
  });

  it('are told of results that count no more', async () => {
    const { root } = writeExperiment();
    const of = { tasks: [sw], out: join(root, 'scores'), lmEval };
    await evaluateModels([join(root, 'base')], of);
    const { warnings } = await evaluateModels([join(root, 'base')], { ...of, settings: { fewshot: 2 } });
    expect(warnings).toEqual([
      expect.stringMatching(/^1 result no longer counts, of base: .* restore these settings$/),
    ]);
  });

  it('take the tasks of benchmarks in the languages', async () => {
    const { root } = writeExperiment();
    const out = join(root, 'scores');
    await evaluateModels([join(root, 'base')], {
      ...{ benchmarks: ['mgsm'], languages: ['swahili', 'en'], out, lmEval },
    });
    expect(recordIn(out).evaluate.tasks).toEqual({
      swahili: ['layerloom_mgsm_sw'],
      english: ['layerloom_mgsm_en'],
    });
  });

  it('give their results to an experiment', async () => {
    const { root, file, out } = writeExperiment('  - {name: default, method: layer_swap, bottom: 2, top: 1}');
    await runExperiment(
      { base: join(root, 'base'), ...experts(root), evaluate: { tasks: { swahili: sw } } },
      { out },
    );
    expect(existsSync(file)).toBe(true);
    const merge = 'swahili/math-1+swh-1/default';
    const scores = join(root, 'scores');
    await evaluateModels([join(out, merge), join(root, 'base')], { tasks: [sw, en], out: scores, lmEval });
    const { imported, failed } = await importResults(out, scores);
    expect(failed).toEqual([]);
    expect(imported.map(({ model, task }) => [model, task])).toEqual([
      ['base', sw],
      [merge, sw],
    ]);
    const outcome = await evaluateExperiment(out, { lmEval });
    expect(outcome.kept).toEqual(expect.arrayContaining(['base', merge]));
    await expect(importResults(out, join(root, 'nothing'))).rejects.toMatchObject({ code: 'READ_FAILED' });
  });

  it('give those of an adapter on its base too', async () => {
    const { root, out } = writeExperiment();
    writeAdapter(join(root, 'adapter'), lora({ shapes: llamaShapes({ layers: 6 }) }));
    const adapted = `${join(root, 'base')}+${join(root, 'adapter')}`;
    const [scores, of] = [join(root, 'scores'), { tasks: [sw], lmEval }];
    await evaluateModels([`adapted=${adapted}`], { ...of, out: scores });
    await runExperiment({ references: { adapted }, merges: [], evaluate: { tasks: { all: sw } } }, { out });
    const { imported } = await importResults(out, scores);
    expect(imported.map(({ model }) => model)).toEqual(['adapted']);
  });

  it.each([
    ['no task', {}, 'INVALID_PARAMETER', /tasks is missing/],
    ['an unknown language', { benchmarks: ['mgsm'], languages: ['klingon'] }, 'INVALID_PARAMETER', /klingon/],
    [
      'a language without the benchmark',
      { benchmarks: ['mmlu'], languages: ['thai'] },
      'INVALID_PARAMETER',
      /thai/,
    ],
    ['a setting that is none', { tasks: [sw], settings: { shots: 2 } }, 'RECIPE_INVALID', /shots/],
    ['a limit of none', { tasks: [sw], limit: 0, lmEval: '/no/lm_eval' }, 'INVALID_PARAMETER', /^limit: /],
    ['a harness that is not there', { tasks: [sw], lmEval: '/no/lm_eval' }, 'HARNESS_MISSING', /lm_eval/],
  ] as const)('are refused for %s, and nothing is left', async (_what, options, code, message) => {
    const { root } = writeExperiment();
    const out = join(root, 'scores');
    await expect(
      evaluateModels([join(root, 'base')], { lmEval, ...options, out } as never),
    ).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
    expect(existsSync(out)).toBe(false);
  });

  it.each([
    ['a model that is not there', (root: string) => [join(root, 'nothing')], 'MODEL_NOT_FOUND'],
    [
      'two models of one name',
      (root: string) => [join(root, 'base'), `base=${join(root, 'math-1')}`],
      'INVALID_PARAMETER',
    ],
  ])('are refused for %s, and nothing is left', async (_what, models, code) => {
    const { root } = writeExperiment();
    const out = join(root, 'scores');
    await expect(evaluateModels(models(root), { tasks: [sw], out, lmEval })).rejects.toMatchObject({ code });
    expect(existsSync(out)).toBe(false);
  });

  it('are not written into an experiment with merges', async () => {
    const { root, out } = writeExperiment();
    await runExperiment({ base: join(root, 'base'), ...experts(root) }, { out });
    const before = readFileSync(join(out, 'experiment.json'), 'utf8');
    await expect(evaluateModels([join(root, 'base')], { tasks: [sw], out, lmEval })).rejects.toMatchObject({
      code: 'INVALID_PARAMETER',
    });
    expect(readFileSync(join(out, 'experiment.json'), 'utf8')).toBe(before);
  });

  it('are scored by the command', async () => {
    const { root } = writeExperiment();
    const [base, expert, out] = ['base', 'math-1', 'scores'].map((name) => join(root, name)) as [
      string,
      string,
      string,
    ];
    const at = ['-o', out, '--lm-eval', stubHarness];
    const done = await run(['evaluate', base, expert, '--tasks', `${sw},${en}`, '--limit', '5', ...at]);
    expect(done.code).toBe(0);
    expect(done.stdout).toMatch(
      /All models[\s\S]*math-1[\s\S]*Paired comparisons[\s\S]*tasks: math-1 minus base/,
    );
    expect(done.stderr).toContain(`layerloom report ${out} -o ${out}.html`);
    expect(readdirSync(join(out, 'evaluations')).filter((name) => name.startsWith(sw))).not.toEqual([]);
    const mixed = await run(['evaluate', out, base, '--tasks', sw]);
    expect(mixed.stderr).toContain('is an experiment');
    const without = await run(['evaluate', base]);
    expect(without.stderr).toContain(`layerloom evaluate ${base} --benchmarks mgsm`);
    const part = await run(['evaluate', base, '--tasks', sw, '--part', '0/2']);
    expect(part.stderr).toContain('--part is for experiments');
    expect([mixed.code, without.code, part.code]).toEqual([2, 3, 2]);
  });
});

const experts = (root: string) => ({
  tasks: { 'math-1': join(root, 'math-1') },
  languages: { swahili: { 'swh-1': join(root, 'swh-1') } },
  merges: [{ name: 'default', method: 'layer_swap' as const, bottom: 2, top: 1 }],
});
