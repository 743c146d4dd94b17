import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { EvaluationResult, ProblemResult } from '../../src/study/evaluation/result.js';
import { ofSamples } from '../../src/study/evaluation/sampled-result.js';
import { layouts } from '../../src/study/paper/layouts.js';
import { rescoreStudy } from '../../src/study/rescoring/rescore-study.js';
import type { ScoredExperiment, ScoredModel } from '../../src/study/scores/reading/scored-experiment.js';
import { tablesOf } from '../../src/study/scores/tables.js';
import { temporaryDirectory } from '../fixtures/checkpoints.js';

const task = 'mgsm_direct_sw';
const metric = 'exact_match,flexible-extract';

/** Whole numbers below 2^32 that are the same each time (Numerical Recipes' generator). */
const random = (seed: number) => {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
};

const runOf = (model: string, right: readonly boolean[], seed: number): EvaluationResult => ({
  ...{ weights: model, task, taskVersion: '1', promptHash: 'p', fewshot: 8, seed: String(seed), rows: null },
  ...{ maxTokens: null, sampling: 'temperature=0.6', backend: 'hf', layerloom: '0', model },
  harness: { name: 'lm-eval', version: '0' },
  metrics: { [metric]: right.filter(Boolean).length / right.length },
  ...{ higherIsBetter: { exact_match: true }, n: right.length, texts: null, source: 'run', started: '' },
  seconds: 1,
  problems: right.map(
    (is, id): ProblemResult => ({
      ...{ id, document: `d${id}`, prompt: `p${id}`, target: 't', response: is ? 'yes' : `no ${seed}` },
      scores: { [metric]: is ? 1 : 0 },
      answers: { 'flexible-extract': is ? 'yes' : `no ${seed}` },
    }),
  ),
});

/** @param chances of a right answer, by problem */
const modelOf = (name: string, chances: readonly number[], k: number, seed: number): ScoredModel => {
  const draw = random(seed);
  const runs = Array.from({ length: k }, (_, at) =>
    runOf(
      name,
      chances.map((chance) => draw() < chance),
      at,
    ),
  );
  return {
    ...{ name, role: name === 'base' ? 'base' : 'task', language: null, languages: ['swahili'] },
    ...{ task: null, languageExpert: null, method: null, entry: null, variant: null, path: null },
    configuration: {},
    results: new Map([[task, ofSamples(runs) as EvaluationResult]]),
  };
};

const experimentOf = (models: readonly ScoredModel[]): ScoredExperiment => ({
  directory: '/study',
  languages: ['swahili'],
  tasks: new Map([['swahili', [task]]]),
  models,
  ...{ texts: {}, summaries: [], warnings: [] },
});

const spread = Array.from({ length: 250 }, (_, at) => (at % 10) / 10);

describe('the table samples', () => {
  it('has avg@k, SD over runs, pass@k and maj@k, as computed once more from the runs', () => {
    const models = [modelOf('base', spread, 4, 1), modelOf('math-1', spread, 4, 2)];
    const [table] = tablesOf(experimentOf(models), layouts, { tables: ['samples'] });
    expect(table?.rows.map(({ label }) => label)).toEqual(['base', 'math-1']);
    for (const [at, row] of (table?.rows ?? []).entries()) {
      const runs = (models[at]?.results.get(task)?.samples ?? []).map(({ problems }) =>
        problems.map(({ scores }) => scores[metric] as number),
      );
      const means = runs.map((run) => (100 * run.reduce((a, b) => a + b)) / run.length);
      const mean = means.reduce((a, b) => a + b) / 4;
      const sd = Math.sqrt(means.reduce((sum, one) => sum + (one - mean) ** 2, 0) / 3);
      const passed = spread.map((_, id) => Number(runs.some((run) => run[id] === 1)));
      // Wrong answers differ, so two right ones are the majority, and one ties with the wrong ones.
      const voted = spread.map((_, id) => {
        const right = runs.filter((run) => run[id] === 1).length;
        return right >= 2 ? 1 : right === 1 ? 1 / 4 : 0;
      });
      const share = (all: number[]) => (100 * all.reduce((a, b) => a + b, 0)) / all.length;
      expect(row.cells.slice(1, 8).map((cell) => cell?.value)).toEqual(
        [4, mean, sd, Math.min(...means), Math.max(...means), share(passed), share(voted)].map((one) =>
          expect.closeTo(one, 9),
        ),
      );
      expect(row.cells[2]?.interval?.[0]).toBeLessThan(mean);
    }
  });

  it('has no rows for a metric that runs lack', () => {
    const models = [modelOf('base', spread, 4, 1)];
    const options = { tables: ['samples', 'plan', 'models'], metric: 'pass@4,flexible-extract', plan: 2 };
    const tables = tablesOf(experimentOf(models), layouts, options);
    expect(tables.find(({ id }) => id === 'models')?.rows[0]?.cells.some((cell) => cell !== null)).toBe(true);
    expect(tables.filter(({ id }) => id !== 'models').flatMap(({ rows }) => rows)).toEqual([]);
  });

  it('is left out where answers are greedy', () => {
    const models = [modelOf('base', spread, 1, 1)];
    expect(() => tablesOf(experimentOf(models), layouts, { tables: ['samples'] })).not.toThrow();
    expect(tablesOf(experimentOf(models), layouts, { tables: ['samples'] })).toEqual([]);
  });
});

describe('sampled answers that are scored again', () => {
  it('are scored answer by answer', async () => {
    const models = [modelOf('base', spread, 4, 1), modelOf('math-1', spread, 4, 2)];
    const drop = join(temporaryDirectory(), 'bad.txt');
    writeFileSync(drop, '0\n9\n');
    const { tables } = await rescoreStudy(experimentOf(models), { drop });
    const [table] = tables;
    const column = table?.columns.findIndex(({ id }) => id === 'after') ?? -1;
    for (const [at, { results }] of models.entries()) {
      const runs = results.get(task)?.samples ?? [];
      const left = runs.flatMap(({ problems }) =>
        problems.filter(({ id }) => id !== 0 && id !== 9).map(({ scores }) => scores[metric] as number),
      );
      const mean = (100 * left.reduce((a, b) => a + b, 0)) / left.length;
      expect(table?.rows[at]?.cells[column]?.value).toBeCloseTo(mean, 9);
    }
  });
});

describe('the table plan', () => {
  it('names the problems with which intervals have that width, as simulated', () => {
    // Chances 0, 0.1, …, 0.9: variance between problems 0.0825, of drawing 0.165 on average.
    const many = Array.from({ length: 4000 }, (_, at) => (at % 10) / 10);
    const models = [modelOf('base', many, 4, 5), modelOf('math-1', many, 4, 6)];
    const [table] = tablesOf(experimentOf(models), layouts, { tables: ['plan'], plan: 2 });
    const rows = table?.rows.map(({ cells }) => cells.map((cell) => cell?.value)) ?? [];
    expect(rows.map(([, k]) => k)).toEqual([1, 2, 4, 8]);
    for (const [, k, score, difference] of rows) {
      const exact = (between: number) => (1.96 / 0.02) ** 2 * (between + 0.165 / Number(k));
      expect(Math.abs(Number(score) / exact(0.0825) - 1)).toBeLessThan(0.1);
      // The chances of the models are equal, so their difference varies by drawing alone.
      expect(Math.abs(Number(difference) / (2 * exact(0)) - 1)).toBeLessThan(0.1);
    }
  });

  it('never says that twice as many answers would save more than half of the problems', () => {
    const few = Array.from({ length: 30 }, (_, at) => (at % 10) / 10);
    for (let seed = 0; seed < 20; seed += 2) {
      const models = [modelOf('base', few, 4, seed), modelOf('math-1', few, 4, seed + 1)];
      const [table] = tablesOf(experimentOf(models), layouts, { tables: ['plan'], plan: 2 });
      const needed = table?.rows.map(({ cells }) => Number(cells[3]?.value)) ?? [];
      expect(needed).toHaveLength(4);
      for (const [at, problems] of needed.entries())
        expect(problems).toBeGreaterThanOrEqual((needed[at - 1] ?? 0) / 2 - 1);
    }
  });

  it.each([0, -1, 100, Number.NaN])('refuses ± %d points', (points) => {
    expect(() => tablesOf(experimentOf([]), layouts, { plan: points })).toThrow(/above 0 and below 100/);
  });
});
