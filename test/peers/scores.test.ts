import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { comparePaired, holm, mcnemarExact } from '../../src/scores/paired.js';
import { constructedResult, exactMatch, outcomes } from '../fixtures/scored.js';

const { LAYERLOOM_PYTHON: python } = process.env;

const hasPeers = python !== undefined && spawnSync(python, ['-c', 'import scipy, statsmodels']).status === 0;

interface Figures {
  readonly mcnemar: readonly number[];
  readonly binomial: readonly number[];
  readonly holm: readonly number[];
  readonly mean: readonly [number, number];
  readonly perplexity: readonly [number, number];
}

const tables = Array.from({ length: 40 }, (_, at) => [(at * 7) % 41, 1 + ((at * 11) % 37)] as const);
const values = tables.map(([onlyA, onlyB]) => mcnemarExact(onlyA, onlyB));
const [a, b] = [outcomes(100, 250, 3), outcomes(80, 250, 4)];
const weights = a.map((_, at) => 10 + (at % 7));

describe.skipIf(!hasPeers)('statistics of tables (LAYERLOOM_PYTHON with scipy and statsmodels)', () => {
  let peers: Figures;

  beforeAll(() => {
    const script = fileURLToPath(new URL('scores.py', import.meta.url));
    const { stdout, stderr } = spawnSync(python ?? '', [script], {
      input: JSON.stringify({ tables, values, a, b, weights }),
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

  it('have the percentile interval of scipy’s bootstrap, within a problem', () => {
    const compared = comparePaired(
      constructedResult({ model: 'a', scores: a }),
      constructedResult({ model: 'b', scores: b }),
      exactMatch,
    );
    for (const side of [0, 1] as const)
      expect(Math.abs((compared.interval?.[side] ?? Number.NaN) - peers.mean[side])).toBeLessThanOrEqual(
        0.004 + 1e-9,
      );
  });

  it('have it of perplexities, from sums and weights', () => {
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
      expect(Math.abs((interval?.[side] ?? Number.NaN) - peers.perplexity[side])).toBeLessThan(0.03 * width);
  });
});
