import binomialCdf from '@stdlib/stats-base-dists-binomial-cdf';
import tCdf from '@stdlib/stats-base-dists-t-cdf';
import padjust from '@stdlib/stats-padjust';
import { describe, expect, it } from 'vitest';
// The compiled module is the bundle, which the package ships instead of the libraries.
import * as bundled from '../../dist/study/scores/statistics/distributions.js';

const range = (count: number, value: (at: number) => number): number[] =>
  Array.from({ length: count }, (_, at) => value(at));

/** Compares bits: toBe separates +0 and -0, and equates NaN with itself. */
const expectSame = (ours: readonly number[], theirs: readonly number[]) =>
  expect(ours.every((value, at) => Object.is(value, theirs[at])) && ours.length === theirs.length).toBe(true);

describe('the bundled functions of statistics give the bits of the libraries', () => {
  it('for the binomial distribution', () => {
    const trials = [0, 1, 2, 7, 50, 250, 1319, 14_042, 100_000];
    const cases = trials.flatMap((n) =>
      [0, 1e-9, 0.1, 0.5, 0.77, 1].flatMap((p) =>
        range(40, (at) => Math.round((n * at) / 39)).map((x) => [x, n, p] as const),
      ),
    );
    expectSame(
      cases.map(([x, n, p]) => bundled.binomialCdf(x, n, p)),
      cases.map(([x, n, p]) => binomialCdf(x, n, p)),
    );
  });

  it('for Student’s distribution', () => {
    const degrees = [0.5, 1, 1.7, 2, 3.25, 10, 99, 249, 1318.4, 1e5, 1e8];
    const cases = degrees.flatMap((df) =>
      range(400, (at) => (at - 200) / 7 + 1e-3 * at).map((x) => [x, df] as const),
    );
    expectSame(
      cases.map(([x, df]) => bundled.tCdf(x, df)),
      cases.map(([x, df]) => tCdf(x, df)),
    );
  });

  it('for Holm’s method', () => {
    for (const count of [1, 2, 9, 100]) {
      const values = range(count, (at) => (at * 0.618_033_988_75) % 1);
      expectSame(bundled.adjustByHolm(values), [...padjust(values, 'holm')]);
    }
  });
});
