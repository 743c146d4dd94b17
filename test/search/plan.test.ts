import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { describeSearchPlan } from '../../src/cli/text/studies/search-text.js';
import { itemAt } from '../../src/core/base/errors/lookup.js';
import { planSearchExperiment, searchExperiment } from '../../src/index.js';
import { forecastSearch, searchSpace } from '../../src/study/search/search.js';
import type { Scorer } from '../../src/study/search/space/experiment-landscape.js';
import type { Rows } from '../../src/study/search/space/landscape.js';
import { llama, writeCheckpoint } from '../fixtures/checkpoints.js';
import { writeExperiment } from '../fixtures/experiment.js';
import { constructedResult, seeded } from '../fixtures/scored.js';
import { landscapeOf, paperSpace, shapes } from './landscapes.js';

const merges = `
  - {name: default, method: layer_swap, bottom: 2, top: 1}
  - {name: grid, method: layer_swap, bottom: [1, 2, 3], top: [0, 1, 2]}
  - {name: soups, method: layer_swap, bottom: 2, top: 1, task: soup, language: soup}
`;

const noting = (): { score: Scorer; asked: { merges: readonly string[]; rows: Rows }[] } => {
  const asked: { merges: readonly string[]; rows: Rows }[] = [];
  return {
    asked,
    score: async (names, rows) => {
      asked.push({ merges: names, rows });
      const [from, to] = rows;
      return new Map(
        names.map((name) => {
          const random = seeded(name.length + from);
          const result = constructedResult({
            model: name,
            scores: Array.from({ length: to - from }, () => (random() < 0.5 ? 1 : 0)),
          });
          const problems = result.problems.map((problem, at) => ({ ...problem, id: from + at }));
          return [name, { ...result, rows, problems }];
        }),
      );
    },
  };
};

const options = { task: 'mgsm_direct_sw', problems: 60, holdOut: 10, budget: 90, pairs: ['math-1+swh-1'] };

describe('a planned search', { timeout: 120_000 }, () => {
  it('is what the search then does, and writes nothing', async () => {
    const { root, file, out } = writeExperiment(merges);
    const before = readdirSync(root);
    const warnings: string[] = [];
    const plan = await planSearchExperiment(file, {
      ...options,
      out,
      onWarning: (warning) => warnings.push(warning),
    });
    expect(readdirSync(root)).toEqual(before);
    expect(warnings).toEqual([]);
    expect(plan).toMatchObject({
      language: 'swahili',
      strategy: 'halving',
      configurations: 9,
      rows: [0, 50],
      default: 'grid/b2-u1',
      grid: 540,
      budget: 90,
      evaluations: { heldOut: 20 },
      refused: [],
    });
    const { score, asked } = noting();
    const searched = await searchExperiment(file, { ...options, out, score });
    const [first] = asked;
    expect(first?.merges).toEqual(plan.first.map((name) => `swahili/math-1+swh-1/${name}`));
    expect(plan.cost.merges).toBe(plan.first.length);
    expect(searched.steps.map(({ title, limit }) => ({ title, limit }))).toEqual(
      plan.steps.map(({ title, limit }) => ({ title, limit })),
    );
    const tried = searched.configurations - searched.leftOut.length;
    expect(tried).toBeGreaterThanOrEqual(plan.tried.fewest);
    expect(tried).toBeLessThanOrEqual(plan.tried.most);
    expect([...plan.first, ...plan.notTried]).toHaveLength(9);
    expect(plan.notTried).toEqual(expect.arrayContaining([...searched.leftOut]));
    const text = describeSearchPlan(plan);
    expect(text).toContain(`not tried, unless their neighbours do well: ${plan.notTried.length}`);
    expect(text).toContain('successive halving over 9 configurations of 1 pair (swahili), by mgsm_direct_sw');
  });

  it('names the configurations of other pairs, which no search tries', async () => {
    const { file } = writeExperiment(merges);
    const plan = await planSearchExperiment(file, { ...options, pairs: undefined, budget: '100%' });
    expect(plan.otherPairs).toEqual(['soups']);
    expect(plan.notTried).toEqual([]);
    expect(plan.merges).toEqual({ fewest: 36, most: 36 });
    expect(describeSearchPlan(plan)).toContain(
      'never tried, because they merge other models than the default: soups',
    );
  });

  it('refuses a budget that the search refuses', async () => {
    const { file, out } = writeExperiment(merges);
    for (const given of [
      { ...options, budget: 30 },
      { ...options, language: 'bengali' },
    ]) {
      const refusals = await Promise.all(
        [
          planSearchExperiment(file, given),
          searchExperiment(file, { ...given, out, score: noting().score }),
        ].map((work) =>
          work.then(
            () => 'done',
            (error: unknown) => String(error),
          ),
        ),
      );
      expect(itemAt(refusals, 0)).toMatch(/budget|language/);
      expect(itemAt(refusals, 1)).toBe(itemAt(refusals, 0));
    }
    expect(existsSync(join(out, 'search.json'))).toBe(false);
  });

  it('says which merges cannot be made', async () => {
    const { root, file } = writeExperiment(merges);
    writeCheckpoint(join(root, 'swh-1'), llama({ layers: 5, seed: 9 }));
    const { refused, cost } = await planSearchExperiment(file, {
      ...options,
      pairs: undefined,
      budget: '100%',
    });
    expect(cost.merges).toBe(18);
    expect(refused).toHaveLength(18);
    for (const { merge, code } of refused) {
      expect(merge).toContain('+swh-1/');
      expect(code).toBe('LAYER_COUNT_MISMATCH');
    }
  });
});

describe('a forecast', () => {
  it('bounds what a search of any budget asks', { timeout: 120_000 }, async () => {
    const space = paperSpace();
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 240, max: 9000 }),
        fc.integer({ min: 1, max: 50 }),
        async (budget, seed) => {
          const parameters = { problems: 250, holdOut: 80, budget };
          const landscape = landscapeOf(space, { shape: shapes.hill, shared: 0.7, seed });
          const forecast = forecastSearch(space, landscape.cost, parameters);
          const { spent, leftOut, heldOut } = await searchSpace(space, landscape, { ...parameters, seed });
          const tried = space.points.length - leftOut.length;
          expect(tried).toBeGreaterThanOrEqual(forecast.first.length);
          expect(tried).toBeLessThanOrEqual(forecast.most);
          for (const point of forecast.first) expect(leftOut).not.toContain(itemAt(space.points, point).name);
          const own = spent - (heldOut === null ? 0 : forecast.reserved);
          expect(own).toBeLessThanOrEqual(
            forecast.steps.reduce((sum, { evaluations }) => sum + evaluations, 0),
          );
        },
      ),
      { numRuns: 20 },
    );
  });
});
