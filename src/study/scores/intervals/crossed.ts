import { sumOf, sumsOf } from '../statistics/mean.js';
import type { Scaled } from './scaled.js';
import { freedomAt, t95 } from './student.js';

/** Scores by level of one kind of model (each task expert, each language expert) and problem. */
export type Levels = readonly Scaled[];

export interface Spread {
  readonly variance: number;
  /** Degrees of freedom of Student's t; infinite if the variance is known. */
  readonly df: number;
}

/** Returns s² / n, the variance of a mean of independent numbers. */
export const spreadOf = (values: ArrayLike<number>, divisor = 1): Spread => {
  const n = values.length;
  const [own] = centred([Float64Array.from(values)]) as [Float64Array];
  const squares = n * squaresOf(own) - sumOf(own) ** 2;
  return { variance: squares / n ** 2 / (n - 1) / divisor ** 2, df: n - 1 };
};

/**
 * Returns the variance of a mean over models and problems, if every model answered every problem. Problems
 * and each kind of expert are crossed effects: a problem is hard for all models, and an expert is part of
 * several merges.
 *
 * V = V_P + V_E,  V_E = Σ_F max(0, V_F − V_FP)
 *
 * V_P is s² of the K problems' means / K. V_F is s² of the I levels' means / I. V_FP is the mean square of
 * the residuals of the I × K table of means / (I K): the part of V_F that V_P contains already (Cornfield and
 * Tukey 1956). V is the estimator of Cameron, Gelbach and Miller (2011) without −V_TL + V_TLP. So the
 * interaction of experts counts twice, which is conservative.
 *
 * Problems are many and experts few, so each part has its own Student's t (Cochran 1964):
 *
 * t² V = t²(K − 1) V_P + t²(df_E) V_E,  df_E = V_E² / Σ_F ((V_F − V_FP)² / (I − 1)) over the F that add to
 * V_E
 *
 * The result's degrees of freedom are those whose t has this 95 % quantile, so that they change continuously
 * with the scores.
 *
 * @param problems variance of the mean that problems alone cause, for these models
 */
export const crossedSpread = (problems: Spread, factors: readonly Levels[]): Spread => {
  const excesses = factors.map((levels) => ({
    variance: Math.max(0, excessOf(levels)),
    df: levels.length - 1,
  }));
  const adding = excesses.filter(({ variance }) => variance > 0);
  return adding.length === 0 ? problems : withT(problems, satterthwaite(adding));
};

/**
 * Returns an upper estimate, V_P + Σ_F V_F. With few experts V_F − V_FP is often negative although experts
 * differ; a claim of equivalence must not rest on that.
 */
export const crossedSpreadAtMost = (problems: Spread, factors: readonly Levels[]): Spread =>
  satterthwaite([problems, ...factors.map((levels) => spreadOfLevels(levels))]);

/** Returns the sum of variances, with Satterthwaite's (1946) degrees of freedom. */
const satterthwaite = (parts: readonly Spread[]): Spread => {
  const variance = sumOf(parts.map((of) => of.variance));
  const uncertainty = sumOf(parts.map((of) => of.variance ** 2 / of.df));
  return { variance, df: uncertainty > 0 ? variance ** 2 / uncertainty : Number.POSITIVE_INFINITY };
};

/** Returns a + b, with the degrees of freedom for which t² V is the sum of the parts' t² V. */
const withT = (a: Spread, b: Spread): Spread => {
  const variance = a.variance + b.variance;
  const squares = (t95(a.df) ** 2 * a.variance + t95(b.df) ** 2 * b.variance) / variance;
  const df = freedomAt(Math.sqrt(squares), [Math.min(a.df, b.df), Math.max(a.df, b.df)]);
  return { variance, df };
};

const spreadOfLevels = (levels: Levels): Spread => {
  const [{ values, divisor }] = levels as [Scaled];
  return spreadOf(
    levels.map((of) => sumOf(of.values)),
    divisor * values.length,
  );
};

/**
 * Returns V_F − V_FP. With the sums T_i of levels and P_k of problems, and the total G, over I levels and K
 * problems:
 *
 *     I² (I − 1) K² V_F = A = I Σ T_i² − G²
 *     I² (I − 1) K² V_FP = B / (K − 1),  B = I K Σ x² − I Σ T_i² − K Σ P_k² + G²
 *
 * A and B are whole numbers if the scores are. With a single problem V_FP is unknown: returns 0.
 */
const excessOf = (levels: Levels): number => {
  const [{ divisor }] = levels as [Scaled];
  const table = centred(levels.map(({ values }) => values));
  const problems = sumsOf(table);
  const [I, K] = [table.length, problems.length];
  const ofLevels = squaresOf(table.map(sumOf));
  const ofProblems = squaresOf(problems);
  const ofAll = sumOf(problems) ** 2;
  const ofEach = sumOf(table.map(squaresOf));
  const own = I * ofLevels - ofAll;
  const left = I * K * ofEach - I * ofLevels - K * ofProblems + ofAll;
  const excess = K < 2 ? own : ((K - 1) * own - left) / (K - 1);
  return excess / (I ** 2 * (I - 1) * K ** 2) / divisor ** 2;
};

const squaresOf = (values: readonly number[] | Float64Array): number =>
  sumOf(values.map((value) => value * value));

/** Subtracts the common mean from fractional scores; without this, their squares would lose digits. */
const centred = (table: readonly Float64Array[]): readonly Float64Array[] => {
  if (table.every((values) => values.every(Number.isInteger))) return table;
  const mean = sumOf(table.map(sumOf)) / sumOf(table.map(({ length }) => length));
  return table.map((values) => values.map((value) => value - mean));
};
