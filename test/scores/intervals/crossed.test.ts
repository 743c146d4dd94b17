import { describe, expect, it } from 'vitest';
import { crossedSpread, spreadOf } from '../../../src/scores/intervals/crossed.js';
import { bonettPrice, wilson } from '../../../src/scores/intervals/shares.js';
import { t95, tTest } from '../../../src/scores/intervals/student.js';
import { meanOf } from '../../../src/scores/mean.js';
import { seeded } from '../../fixtures/scored.js';

/** Scores of `rows` × `columns` models on `problems` problems, with effects of each. */
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

/** Mean squares as textbooks have them, from sums of squares over the whole table, one effect after the other. */
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

/** What `crossedSpread` is given: means by problem, by row and problem, and by column and problem. */
const marginsOf = (y: readonly (readonly (readonly number[])[])[]) => {
  const byProblem = (models: readonly (readonly number[])[]) =>
    Float64Array.from(models[0] ?? [], (_, k) => mean(models.map((scores) => scores[k] ?? Number.NaN)));
  return {
    problems: byProblem(y.flat()),
    rows: y.map(byProblem),
    columns: (y[0] ?? []).map((_, j) => byProblem(y.map((row) => row[j] ?? []))),
  };
};

describe('the variance of a mean over crossed experts and problems', () => {
  it.each([
    [3, 3, 40],
    [2, 3, 25],
    [4, 2, 10],
  ])('of %i × %i models on %i problems is that of the mean squares', (rows, columns, problems) => {
    const y = table(rows, columns, problems, rows * columns);
    const { size, T, L, P, TP, LP, freedom } = meanSquares(y);
    const margins = marginsOf(y);
    const { variance, df } = crossedSpread(spreadOf(margins.problems), [margins.rows, margins.columns]);
    expect(T > TP && L > LP).toBe(true);
    expect(variance).toBeCloseTo((P + T - TP + L - LP) / size, 12);
    const uncertainty = P ** 2 / freedom.P + T ** 2 / freedom.T + L ** 2 / freedom.L;
    expect(df).toBeCloseTo((P + T - TP + L - LP) ** 2 / uncertainty, 9);
  });

  it('is that of problems alone where experts differ by no more than problems make them', () => {
    // Rows are equal but for what each adds to single problems, which sums to nothing.
    const level = (sign: number) => Float64Array.from([1, 2, 4, 8], (score, at) => score + sign * (-1) ** at);
    const problems = spreadOf([1, 2, 4, 8]);
    expect(crossedSpread(problems, [[level(1), level(-1)]])).toEqual({
      ...problems,
      df: expect.closeTo(3, 12),
    });
  });

  it('of scores without problems is that of the experts, and of what is known of problems', () => {
    const levels = [Float64Array.of(0.2), Float64Array.of(0.4)];
    const { variance, df } = crossedSpread({ variance: 0.001, df: Number.POSITIVE_INFINITY }, [levels]);
    expect(variance).toBeCloseTo(0.001 + 0.01, 12);
    expect(df).toBeCloseTo(0.011 ** 2 / 0.01 ** 2, 12);
  });

  it('has no fewer degrees of freedom than the kind that has the fewest', () => {
    // Experts differ by a little more than problems make them: V is mostly that of problems, and little known.
    const levels = [Float64Array.of(1, 3, 2, 8.2), Float64Array.of(2, 1, 5, 4.5)];
    const problems = spreadOf([0.1, 0.2, 0.3, 0.25]);
    expect(crossedSpread(problems, [levels]).df).toBeGreaterThanOrEqual(1);
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
