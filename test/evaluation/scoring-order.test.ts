import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { describeEvaluationPlan } from '../../src/cli/text/studies/evaluation-text.js';
import { evaluateExperiment, planEvaluation, runExperiment } from '../../src/index.js';
import { standIn } from '../fixtures/evaluation-errors.js';
import { recordIn, writeExperiment } from '../fixtures/experiment.js';

vi.setConfig({ testTimeout: 180_000 });

const lmEval = standIn;

const merges = `
  - {name: default, method: layer_swap, bottom: 2, top: 1}
  - {name: grid, method: layer_swap, bottom: [2, 3], top: 1, bottom_transition: [0, 1]}
  - {name: soup, method: soup}
`;

const made = async (options: { first?: string[]; evaluate?: object } = {}) => {
  const { file, out } = writeExperiment(merges);
  const evaluate = { tasks: { swahili: 'mgsm_direct_sw' }, fewshot: 8, ...options.evaluate };
  writeFileSync(file, `\nevaluate: ${JSON.stringify(evaluate)}\n`, { flag: 'a' });
  await runExperiment(file, { out, first: options.first });
  return out;
};

const scoresIn = (out: string) =>
  [...recordIn(out).references, ...recordIn(out).merges].map(({ name, scores }) => [
    name,
    Object.values((scores ?? {}) as Record<string, { metrics: unknown }>).map(({ metrics }) => metrics),
  ]);

/** Scores all models. @returns the names in scoring order, and the outcome */
const evaluated = async (out: string, options: Parameters<typeof evaluateExperiment>[1] = {}) => {
  const names: string[] = [];
  const outcome = await evaluateExperiment(out, {
    lmEval,
    ...options,
    onScored: ({ model, state }) => {
      if (state === 'scored') names.push(model);
    },
  });
  return { names, outcome };
};

describe('the order of scoring', () => {
  it('loads what a dry run says, to the byte', async () => {
    const tasks = { swahili: ['mgsm_direct_sw', 'stub_perplexity'] };
    const out = await made({ evaluate: { tasks } });
    const plan = await planEvaluation(out, { lmEval });
    const { names, outcome } = await evaluated(out);
    expect(outcome.failed).toEqual([]);
    expect(names).toEqual(plan.order.map(({ name }) => name));
    expect(outcome.weights).toEqual({ loaded: plan.weights?.loaded, ofModels: plan.weights?.ofModels });
    expect(plan.order.reduce((sum, { bytes }) => sum + (bytes ?? 0), 0)).toBe(plan.weights?.loaded);
    const merges = names.filter((name) => name.startsWith('swahili/'));
    expect(merges).not.toEqual(plan.models.map(({ name }) => name).filter((name) => merges.includes(name)));
    expect(describeEvaluationPlan(plan, out)).toMatch(
      /\nweights to load: [\d.]+ kB, for models of [\d.]+ kB; \d models? whole, of \d+ only what differs\norder: base, (\S+, ){4}\S+ and \d+ more$/,
    );
    // Scored models are neither planned nor loaded.
    rmSync(join(out, 'evaluations'), { recursive: true });
    await evaluated(out, { only: ['swh-*', '*/default'] });
    const rest = await planEvaluation(out, { lmEval });
    const later = await evaluated(out);
    expect(later.outcome.weights.loaded).toBe(rest.weights?.loaded);
    expect(later.names).toEqual(rest.order.map(({ name }) => name));
  });

  it('is the same of merges that are not written, and loads as much', async () => {
    const written = await made();
    const { file, out } = writeExperiment(merges);
    const evaluate = { tasks: { swahili: 'mgsm_direct_sw' }, fewshot: 8 };
    writeFileSync(file, `\nevaluate: ${JSON.stringify(evaluate)}\n`, { flag: 'a' });
    await runExperiment(file, { out, write: [] });
    const plan = await planEvaluation(out, { lmEval, inPlace: true });
    const ofWritten = await planEvaluation(written, { lmEval });
    expect(plan.order).toEqual(ofWritten.order);
    expect(plan.weights).toEqual(ofWritten.weights);
    const { names, outcome } = await evaluated(out, { inPlace: true });
    expect(outcome.failed).toEqual([]);
    expect(names).toEqual(plan.order.map(({ name }) => name));
    expect(outcome.weights).toEqual({ loaded: plan.weights?.loaded, ofModels: plan.weights?.ofModels });
    // If everything is scored, nothing is made.
    const rest = await planEvaluation(out, { lmEval, inPlace: true });
    expect([rest.models, plan.inPlace?.bytes]).toEqual([[], expect.any(Number)]);
    expect(rest.inPlace).toMatchObject({ merges: 0, bytes: 0, bytesWritten: 0 });
    // The same holds if only some of them are written.
    const { weights } = await planEvaluation(out, { lmEval, inPlace: true, force: true });
    await runExperiment(file, { out, resume: true, write: ['*/default'] });
    const mixed = await planEvaluation(out, { lmEval, inPlace: true, force: true });
    expect(mixed.weights).toEqual(weights);
  });

  it('changes no score', async () => {
    const out = await made();
    // The stand-in's answers depend on a model's path, so no two models here have equal weights.
    const only = ['base', 'swh-*', '*/b3-*'];
    const exchanged = await evaluated(out, { only });
    const scores = scoresIn(out);
    const { names } = await evaluated(out, { only, separate: true, force: true });
    expect(names).not.toEqual(exchanged.names);
    expect(names).toEqual(
      (await planEvaluation(out, { only, lmEval, separate: true, force: true })).order.map(
        ({ name }) => name,
      ),
    );
    expect(scoresIn(out)).toEqual(scores);
  });

  it('has references first, and then what a batch was to make first', async () => {
    const out = await made({ first: ['*/soup', '*math-2*/default'] });
    const plan = await planEvaluation(out, { lmEval });
    const { names } = await evaluated(out);
    expect(names).toEqual(plan.order.map(({ name }) => name));
    expect(names.slice(0, 5).toSorted()).toEqual(['base', 'math-1', 'math-2', 'swh-1', 'swh-2']);
    expect(names.slice(5, 9).every((name) => name.endsWith('/soup'))).toBe(true);
    expect(names.slice(9, 11).every((name) => /math-2.*\/default$/.test(name))).toBe(true);
  });

  it('is divided among jobs', async () => {
    const out = await made();
    const plan = await planEvaluation(out, { lmEval, jobs: 2 });
    const { outcome } = await evaluated(out, { jobs: 2 });
    expect(outcome.failed).toEqual([]);
    expect(outcome.scored).toHaveLength(plan.order.length);
    expect(new Set(plan.order.map(({ job }) => job))).toEqual(new Set([0, 1]));
    expect(outcome.weights.ofModels).toBe(plan.weights?.ofModels);
  });

  it('is the record’s where nothing tells what models share', async () => {
    const out = await made();
    const plan = await planEvaluation(out, { lmEval, separate: true, force: true });
    expect(plan.weights).toBeNull();
    expect(plan.order.map(({ name }) => name)).toEqual(plan.models.map(({ name }) => name));
    expect(readFileSync(join(out, 'experiment.json'), 'utf8')).not.toContain('"first"');
  });
});
