import { describe, expect, it } from 'vitest';
import { intervalOf, pOfZero } from '../../../src/study/scores/intervals/bounded.js';
import { crossedSpread, spreadOf } from '../../../src/study/scores/intervals/crossed.js';
import { meanOfModels } from '../../../src/study/scores/intervals/scaled.js';
import { bonettPrice, wilson } from '../../../src/study/scores/intervals/shares.js';
import { freedomAt, t95, tTest } from '../../../src/study/scores/intervals/student.js';
import { unbounded } from '../../../src/study/scores/reading/metrics.js';
import { meanOf, sumOf } from '../../../src/study/scores/statistics/mean.js';
import { seeded } from '../../fixtures/scored.js';

const table = (rows: number, columns: number, problems: number, seed = 1): number[][][] => {
  const random = seeded(seed);
  const effects = (count: number, size: number) =>
    Array.from({ length: count }, () => size * (random() - 0.5));
  const [ofRows, ofColumns, ofProblems] = [effects(rows, 2), effects(columns, 1), effects(problems, 3)];
  return ofRows.map((row) =>
    ofColumns.map((column) => ofProblems.map((problem) => row + column + problem + random())),
  );
};

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;

/** Mean squares by the textbook, from sums of squares over the whole table, one effect after the other. */
const meanSquares = (y: readonly (readonly (readonly number[])[])[]) => {
  const [I, J, K] = [y.length, y[0]?.length ?? 0, y[0]?.[0]?.length ?? 0];
  const at = (i: number, j: number, k: number) => y[i]?.[j]?.[k] ?? Number.NaN;
  const range = (n: number) => Array.from({ length: n }, (_, index) => index);
  const over = (of: (i: number, j: number, k: number) => number) =>
    range(I).flatMap((i) => range(J).flatMap((j) => range(K).map((k) => of(i, j, k))));
  const grand = mean(over(at));
  const i_ = range(I).map((i) => mean(range(J).flatMap((j) => range(K).map((k) => at(i, j, k)))));
  const j_ = range(J).map((j) => mean(range(I).flatMap((i) => range(K).map((k) => at(i, j, k)))));
  const k_ = range(K).map((k) => mean(range(I).flatMap((i) => range(J).map((j) => at(i, j, k)))));
  const ik = range(I).map((i) => range(K).map((k) => mean(range(J).map((j) => at(i, j, k)))));
  const jk = range(J).map((j) => range(K).map((k) => mean(range(I).map((i) => at(i, j, k)))));
  const squares = (of: (i: number, j: number, k: number) => number | undefined) =>
    over((i, j, k) => (of(i, j, k) ?? Number.NaN) ** 2).reduce((sum, value) => sum + value, 0);
  const n = (value: number | undefined) => value ?? Number.NaN;
  return {
    size: I * J * K,
    T: squares((i) => n(i_[i]) - grand) / (I - 1),
    L: squares((_, j) => n(j_[j]) - grand) / (J - 1),
    P: squares((_, __, k) => n(k_[k]) - grand) / (K - 1),
    TP: squares((i, _, k) => n(ik[i]?.[k]) - n(i_[i]) - n(k_[k]) + grand) / ((I - 1) * (K - 1)),
    LP: squares((_, j, k) => n(jk[j]?.[k]) - n(j_[j]) - n(k_[k]) + grand) / ((J - 1) * (K - 1)),
    freedom: { T: I - 1, L: J - 1, P: K - 1 },
  };
};

const marginsOf = (y: readonly (readonly (readonly number[])[])[]) => {
  const byProblem = (models: readonly (readonly number[])[]) =>
    meanOfModels(models.map((scores) => Float64Array.from(scores)));
  return {
    problems: byProblem(y.flat()),
    rows: y.map(byProblem),
    columns: (y[0] ?? []).map((_, j) => byProblem(y.map((row) => row[j] ?? []))),
  };
};

const spreadIn = (y: readonly (readonly (readonly number[])[])[]) => {
  const { problems, rows, columns } = marginsOf(y);
  return crossedSpread(spreadOf(problems.values, problems.divisor), [rows, columns]);
};

const scaled = (...values: readonly number[]) => ({ values: Float64Array.from(values), divisor: 1 });

describe('the variance of a mean over crossed experts and problems', () => {
  it.each([
    [3, 3, 40],
    [2, 3, 25],
    [4, 2, 10],
  ])('of %i × %i models on %i problems is that of the mean squares', (rows, columns, problems) => {
    const y = table(rows, columns, problems, rows * columns);
    const { size, T, L, P, TP, LP, freedom } = meanSquares(y);
    const { variance, df } = spreadIn(y);
    expect(T > TP && L > LP).toBe(true);
    // Two experts' residuals take nothing off, three experts' a half of them.
    const part = (own: number, residual: number, of: number) =>
      Math.max(0, own - ((of - 2) / (of - 1)) * residual);
    const whole = P + part(T, TP, rows) + part(L, LP, columns);
    expect(variance).toBeCloseTo(whole / size, 12);
    // Each part has its own quantile of Student's t; the experts' has Satterthwaite's degrees of freedom.
    const experts = T - TP + L - LP;
    const freedomOfExperts = experts ** 2 / ((T - TP) ** 2 / freedom.T + (L - LP) ** 2 / freedom.L);
    const squares = t95(freedom.P) ** 2 * P + t95(freedomOfExperts) ** 2 * experts;
    const least = t95(freedom.P) ** 2 * whole;
    expect(t95(df) ** 2 * variance).toBeCloseTo(Math.max(least, squares) / size, 9);
  });

  it('is that of problems alone where experts have equal means', () => {
    // Rows differ only in single problems, by amounts that sum to zero.
    const level = (sign: number) => scaled(...[1, 2, 4, 8].map((score, at) => score + sign * (-1) ** at));
    const problems = spreadOf([1, 2, 4, 8]);
    expect(crossedSpread(problems, [[level(1), level(-1)]])).toEqual(problems);
  });

  it('of scores without problems is that of the experts, and of what is known of problems', () => {
    const levels = [scaled(0.2), scaled(0.4)];
    const { variance, df } = crossedSpread({ variance: 0.001, df: Number.POSITIVE_INFINITY }, [levels]);
    expect(variance).toBeCloseTo(0.001 + 0.01, 12);
    const squares = t95(Number.POSITIVE_INFINITY) ** 2 * 0.001 + t95(1) ** 2 * 0.01;
    expect(t95(df) ** 2 * variance).toBeCloseTo(squares, 9);
  });

  it('counts experts whose means differ by less than problems explain', () => {
    // By residuals alone the means of two such levels would be 4 / √12 apart.
    const level = (sign: number, more: number) =>
      scaled(...[1, 2, 4, 8].map((score, at) => score + sign * (-1) ** at + more));
    const problems = spreadOf([1, 2, 4, 8]);
    const at = (more: number) => crossedSpread(problems, [[level(1, more), level(-1, 0)]]);
    const { variance, df } = at(0.5);
    expect(variance).toBeCloseTo(problems.variance + 0.5 ** 2 / 4, 12);
    expect(df).toBe(problems.df);
    // Nothing jumps where the excess begins.
    const excess = 4 / Math.sqrt(12);
    for (const more of [1e-9, 1e-6, 1e-3]) {
      const [below, above] = [at(excess - more), at(excess + more)];
      expect(Math.abs(above.variance - below.variance)).toBeLessThan(10 * more);
      expect(Math.abs(t95(above.df) - t95(below.df))).toBeLessThan(100 * more + 1e-6);
    }
    expect(at(30).df).toBeLessThan(1.1);
    expect(at(30).df).toBeGreaterThanOrEqual(1);
  });

  it('is exact for scores of 0 and 1, whatever the order of problems, models and names', () => {
    // Right answers of 2 × 2 models on 100 problems, with V_T exactly V_TP.
    const right = [
      [
        [19, 58, 80, 93],
        [5, 15, 22, 55, 65, 73, 90],
      ],
      [
        [0, 40, 56, 82, 86],
        [0, 23, 28, 52, 78, 91, 97],
      ],
    ];
    const of = (place: (problem: number) => number) =>
      right.map((row) =>
        row.map((own) => Array.from({ length: 100 }, (_, k) => (own.includes(place(k)) ? 1 : 0))),
      );
    const y = of((k) => k);
    const expected = spreadIn(y);
    expect(spreadIn(of((k) => 99 - k))).toEqual(expected);
    expect(spreadIn(of((k) => (37 * k) % 100))).toEqual(expected);
    expect(spreadIn(y.toReversed())).toEqual(expected);
    expect(spreadIn(y.map((row) => row.toReversed()))).toEqual(expected);
  });
});

describe('sums', () => {
  it('are the same in any order', () => {
    const random = seeded(3);
    const values = Array.from({ length: 500 }, () => random() - 0.5);
    const shuffled = values.toSorted((a, b) => Math.sin(1e6 * a) - Math.sin(1e6 * b));
    expect(sumOf(shuffled)).toBe(sumOf(values));
    expect(sumOf(values)).toBeCloseTo(
      values.reduce((sum, value) => sum + value, 0),
      12,
    );
    expect(spreadOf(shuffled)).toEqual(spreadOf(values));
  });
});

describe('intervals of scores that have a range', () => {
  const located = (mean: number, variance: number, df = 249, range: readonly [number, number] = [0, 1]) => ({
    ...{ center: mean, mean, range, n: 250 },
    spread: { variance, df },
  });

  it('are Wilson’s of the number of problems that gives a share this variance', () => {
    // With the normal quantile and the variance of one model: statsmodels 0.15, proportion_confint(62, 250,
    // method='wilson').
    const share = 62 / 250;
    const interval = intervalOf(located(share, (share * (1 - share)) / 250, Number.POSITIVE_INFINITY));
    for (const side of [0, 1] as const) expect(interval?.[side]).toBeCloseTo(wilson(62, 250)[side], 7);
    // Nine models without a solved problem count as one.
    expect(intervalOf(located(0, 0, Number.POSITIVE_INFINITY))?.[1]).toBeCloseTo(wilson(0, 250)[1], 7);
    expect(intervalOf(located(1, 0, Number.POSITIVE_INFINITY))?.[0]).toBeCloseTo(wilson(250, 250)[0], 7);
  });

  it('do not leave it, whatever the variance and what a choice takes off', () => {
    const random = seeded(5);
    for (let time = 0; time < 2000; time += 1) {
      const mean = random() ** 4;
      const [df, variance] = [1 + 20 * random() ** 3, mean * (1 - mean) * random()];
      const [low, high] = intervalOf({ ...located(mean, variance, df), center: mean - 0.3 * random() }) ?? [];
      expect(low).toBeGreaterThanOrEqual(0);
      expect(high).toBeLessThanOrEqual(1);
      const difference = intervalOf(located(2 * mean - 1, variance, df, [-1, 1]));
      expect(Math.max(...(difference ?? []).map(Math.abs))).toBeLessThanOrEqual(1);
    }
    // Perplexities have an end below alone.
    const [least, most] = intervalOf(located(1.2, 0.04, 2, [1, Number.POSITIVE_INFINITY])) ?? [];
    expect(least).toBeGreaterThan(1);
    expect(most).toBeGreaterThan(1.2 + Math.sqrt(0.04));
  });

  it('are symmetric where nothing bounds them', () => {
    expect(intervalOf(located(3, 4, Number.POSITIVE_INFINITY, unbounded))).toEqual([
      expect.closeTo(3 - 2 * 1.959964, 5),
      expect.closeTo(3 + 2 * 1.959964, 5),
    ]);
  });

  it('of a difference exclude 0 where p is below 5 %, and nowhere else', () => {
    const random = seeded(6);
    for (let time = 0; time < 2000; time += 1) {
      const of = located(1.6 * random() - 0.8, 0.2 * random() ** 2, 1 + 50 * random() ** 2, [-1, 1]);
      const [low = 0, high = 0] = intervalOf(of) ?? [];
      expect(low > 0 || high < 0).toBe(pOfZero(of) < 0.05);
    }
  });
});

describe('Student’s t', () => {
  // scipy 1.17: stats.t.ppf(0.975, df), 2 * stats.t.sf(2, df).
  it.each([
    [1, 12.706204736432095, 0.2951672353008665],
    [2, 4.302652729749462, 0.18350341907227397],
    [2.37, 3.7189208397974576, undefined],
    [249, 1.9695368676394, undefined],
  ])('of %d degrees of freedom', (df, quantile, p) => {
    expect(t95(df)).toBeCloseTo(quantile, 8);
    if (p !== undefined) expect(tTest(2, df)).toBeCloseTo(p, 10);
    expect(tTest(-quantile, df)).toBeCloseTo(0.05, 9);
  });

  it.each([1, 1.7, 2, 6.2, 80, 249])('has the degrees of freedom of a quantile: %d', (df) => {
    expect(freedomAt(t95(df), [1, 249])).toBeCloseTo(df, 4);
  });

  it('of a known variance is the normal quantile', () => {
    expect(t95(Number.POSITIVE_INFINITY)).toBeCloseTo(1.959963984540054, 7);
  });
});

describe('intervals of shares', () => {
  // statsmodels 0.15: proportion_confint(x, n, method='wilson').
  it('of one model are Wilson’s, also where all or none is right', () => {
    expect(wilson(0, 50)).toEqual([expect.closeTo(0, 15), expect.closeTo(0.07134759913335874, 10)]);
    expect(wilson(62, 250)).toEqual([expect.closeTo(0.19856, 4), expect.closeTo(0.30511, 4)]);
    expect(wilson(50, 50)[1]).toBe(1);
  });

  it('of a difference are not of no width where models agree', () => {
    expect(bonettPrice(0, 0, 50)).toEqual([expect.closeTo(-0.0533, 4), expect.closeTo(0.0533, 4)]);
  });
});

it('a mean of nothing is no number', () => {
  expect(meanOf([])).toBeNaN();
});
