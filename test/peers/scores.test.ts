import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { comparePaired, holm, mcnemarExact } from '../../src/study/scores/comparing/paired.js';
import { crossedSpread, spreadOf } from '../../src/study/scores/intervals/crossed.js';
import { meanOfModels } from '../../src/study/scores/intervals/scaled.js';
import { wilson } from '../../src/study/scores/intervals/shares.js';
import { t95 } from '../../src/study/scores/intervals/student.js';
import { constructedResult, exactMatch, outcomes } from '../fixtures/scored.js';

const { LAYERLOOM_PYTHON: python } = process.env;

const hasPeers = python !== undefined && spawnSync(python, ['-c', 'import scipy, statsmodels']).status === 0;

interface Figures {
  readonly mcnemar: readonly number[];
  readonly binomial: readonly number[];
  readonly holm: readonly number[];
  readonly mean: readonly [number, number];
  readonly crossed: readonly [variance: number, half: number];
  readonly quantiles: readonly number[];
  readonly wilson: readonly [number, number];
  readonly bonettPrice: readonly [number, number];
  readonly perplexity: readonly [number, number];
}

const tables = Array.from({ length: 40 }, (_, at) => [(at * 7) % 41, 1 + ((at * 11) % 37)] as const);
const values = tables.map(([onlyA, onlyB]) => mcnemarExact(onlyA, onlyB));
const [a, b] = [outcomes(100, 250, 3), outcomes(80, 250, 4)];
const weights = a.map((_, at) => 10 + (at % 7));
const grid = [70, 80, 95].map((right, t) =>
  [0, 3, 9].map((more, l) => outcomes(right + more, 250, 10 * t + l)),
);
const freedom = [1, 1.5, 2, 3.7, 12, 249];

describe.skipIf(!hasPeers)('statistics of tables (LAYERLOOM_PYTHON with scipy and statsmodels)', () => {
  let peers: Figures;

  beforeAll(() => {
    const script = fileURLToPath(new URL('scores.py', import.meta.url));
    const { stdout, stderr } = spawnSync(python ?? '', [script], {
      input: JSON.stringify({ tables, values, a, b, weights, grid, freedom }),
      encoding: 'utf8',
    });
    if (stdout === '') throw new Error(stderr);
    peers = JSON.parse(stdout);
  });

  it('have the p-values of McNemar’s exact test', () => {
    for (const [at, value] of values.entries()) {
      expect(value).toBeCloseTo(peers.mcnemar[at] ?? Number.NaN, 12);
      expect(value).toBeCloseTo(peers.binomial[at] ?? Number.NaN, 12);
    }
  });

  it('are adjusted as by statsmodels’ Holm', () => {
    for (const [at, value] of holm(values).entries())
      expect(value).toBeCloseTo(peers.holm[at] ?? Number.NaN, 12);
  });

  it('have the variance of crossed effects from the mean squares of a table', () => {
    const margin = (rows: readonly (readonly number[])[]) =>
      meanOfModels(rows.map((row) => Float64Array.from(row)));
    const byLanguage = [0, 1, 2].map((l) => margin(grid.map((row) => row[l] ?? [])));
    const { values: ofProblems, divisor } = margin(grid.flat());
    const { variance, df } = crossedSpread(spreadOf(ofProblems, divisor), [grid.map(margin), byLanguage]);
    expect(variance).toBeCloseTo(peers.crossed[0], 12);
    expect(t95(df) * Math.sqrt(variance)).toBeCloseTo(peers.crossed[1], 9);
  });

  it('have the quantiles of Student’s t', () => {
    for (const [at, df] of freedom.entries())
      expect(t95(df)).toBeCloseTo(peers.quantiles[at] ?? Number.NaN, 8);
  });

  it('have Wilson’s interval of a share, and that of Bonett and Price of a difference', () => {
    expect(wilson(100, 250)).toEqual(peers.wilson.map((bound) => expect.closeTo(bound, 10)));
    const { interval } = comparePaired(
      constructedResult({ model: 'a', scores: a }),
      constructedResult({ model: 'b', scores: b }),
      exactMatch,
    );
    expect(interval).toEqual(peers.bonettPrice.map((bound) => expect.closeTo(bound, 10)));
    for (const side of [0, 1] as const)
      expect(Math.abs((interval?.[side] ?? Number.NaN) - peers.mean[side])).toBeLessThan(0.006);
  });

  it('have an interval of perplexities near that of scipy’s bootstrap of sums and weights', () => {
    const of = (model: string, scores: readonly number[]) =>
      constructedResult({
        model,
        metric: 'byte_perplexity,none',
        scores: scores.map((score, at) => [-10 - score, weights[at] ?? Number.NaN] as const),
        value: 1,
        higherIsBetter: false,
      });
    const { interval } = comparePaired(of('a', a), of('b', b), 'byte_perplexity,none');
    const width = peers.perplexity[1] - peers.perplexity[0];
    for (const side of [0, 1] as const)
      expect(Math.abs((interval?.[side] ?? Number.NaN) - peers.perplexity[side])).toBeLessThan(0.05 * width);
  });
});
