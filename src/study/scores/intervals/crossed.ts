import { sumOf, sumsOf } from '../statistics/mean.js';
import type { Scaled } from './scaled.js';
import { freedomAt, t95 } from './student.js';

/** Scores by problem, for each level of a factor: models of one kind, such as each task expert. */
export type Levels = readonly Scaled[];

export interface Spread {
  readonly variance: number;
  /** Degrees of freedom of Student's t; infinite if the variance is known. */
  readonly df: number;
}

/** Returns s²/n, the variance of a mean of independent numbers. */
export const spreadOf = (values: ArrayLike<number>, divisor = 1): Spread => {
  const n = values.length;
  const [own] = centred([Float64Array.from(values)]) as [Float64Array];
  const squares = n * squaresOf(own) - sumOf(own) ** 2;
  return { variance: squares / n ** 2 / (n - 1) / divisor ** 2, df: n - 1 };
};

/**
 * Returns the variance V of a mean over models and problems, if every model answered every problem. Problems
 * and each kind of expert are crossed effects; docs/tables.md has the formulas and their sources.
 *
 * With few levels V_F is often below V_FP by chance, so the weight of V_FP, (I − 2)/(I − 1), is 0 for two
 * levels. V is the estimator of Cameron, Gelbach and Miller (2011) without −V_TL + V_TLP: the interaction of
 * experts counts twice.
 *
 * f = V_E² / Σ_F ((V_F − V_FP)²/(I − 1)) over the F that add to V_E. The result's degrees of freedom are those
 * with which t √V is the half-width of the 95 % interval.
 *
 * @param problems variance of the mean that is due to problems alone, for these models
 */
export const crossedSpread = (problems: Spread, factors: readonly Levels[]): Spread => {
  const variance = problems.variance + sumOf(factors.map((of) => excessOf(of, 1 - 1 / (of.length - 1))));
  const adding = factors
    .map((of) => ({ variance: excessOf(of, 1), df: of.length - 1 }))
    .filter((of) => of.variance > 0);
  if (adding.length === 0) return { variance, df: problems.df };
  const experts = satterthwaite(adding);
  const squares = t95(problems.df) ** 2 * problems.variance + t95(experts.df) ** 2 * experts.variance;
  const bounds = [Math.min(problems.df, experts.df), problems.df] as const;
  return { variance, df: freedomAt(Math.sqrt(squares / variance), bounds) };
};

/**
 * Returns an upper estimate of the variance, V_P + Σ_F V_F, for claims of equivalence. With few experts,
 * V_F − V_FP is often negative although experts differ, so `crossedSpread` may be too small.
 */
export const crossedSpreadAtMost = (problems: Spread, factors: readonly Levels[]): Spread =>
  satterthwaite([problems, ...factors.map((levels) => spreadOfLevels(levels))]);

/** Returns the sum of variances, with Satterthwaite's (1946) degrees of freedom. */
const satterthwaite = (parts: readonly Spread[]): Spread => {
  const variance = sumOf(parts.map((of) => of.variance));
  const uncertainty = sumOf(parts.map((of) => of.variance ** 2 / of.df));
  return { variance, df: uncertainty > 0 ? variance ** 2 / uncertainty : Number.POSITIVE_INFINITY };
};

const spreadOfLevels = (levels: Levels): Spread => {
  const [{ values, divisor }] = levels as [Scaled];
  return spreadOf(
    levels.map((of) => sumOf(of.values)),
    divisor * values.length,
  );
};

/**
 * Returns max(0, V_F − share·V_FP). With the sums T_i of levels and P_k of problems, and the total G, over I
 * levels and K problems:
 *
 *     I² (I − 1) K² V_F = A = I Σ T_i² − G²
 *     I² (I − 1) K² V_FP = B/(K − 1),  B = I K Σ x² − I Σ T_i² − K Σ P_k² + G²
 *
 * A and B are whole numbers if the scores are. With a single problem V_FP counts as 0.
 */
const excessOf = (levels: Levels, share: number): number => {
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
  const excess = K < 2 ? own : ((K - 1) * own - share * left) / (K - 1);
  return Math.max(0, excess) / (I ** 2 * (I - 1) * K ** 2) / divisor ** 2;
};

const squaresOf = (values: readonly number[] | Float64Array): number =>
  sumOf(values.map((value) => value * value));

/** Subtracts the common mean from fractional scores; without this, their squares would lose digits. */
const centred = (table: readonly Float64Array[]): readonly Float64Array[] => {
  if (table.every((values) => values.every(Number.isInteger))) return table;
  const mean = sumOf(table.map(sumOf)) / sumOf(table.map(({ length }) => length));
  return table.map((values) => values.map((value) => value - mean));
};
