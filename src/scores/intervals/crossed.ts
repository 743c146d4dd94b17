import { itemAt } from '../../base/lookup.js';
import { meanOf } from '../mean.js';

/**
 * Scores by level of one kind of model (each task expert, each language expert) and problem: means over the models of
 * the level, all levels having as many.
 */
export type Levels = readonly Float64Array[];

/** The variance of a mean, and how well it is known. */
export interface Spread {
  readonly variance: number;
  /** Degrees of freedom of Student's t; infinite where the variance is known. */
  readonly df: number;
}

/** Returns the variance of a mean of independent numbers, s² / n. */
export const spreadOf = (values: ArrayLike<number>): Spread => {
  const n = values.length;
  const mean = meanOf(values);
  let squares = 0;
  for (let at = 0; at < n; at += 1) squares += ((values[at] as number) - mean) ** 2;
  return { variance: squares / (n - 1) / n, df: n - 1 };
};

/**
 * Returns the variance of a mean over models and problems of which every model has answered every problem. Problems and
 * each kind of expert are crossed effects: a problem is hard for all models, and an expert is in all of its merges.
 *
 *     V = V_P + Σ_F max(0, V_F − V_FP)
 *
 * V_P = s² of the problems' means / K, V_F = s² of the I levels' means / I, and V_FP = the mean square of what is left of
 * the I × K table of means, when the means of its levels and problems are taken off, / (I K). V_FP is what problems add to
 * V_F, and is in V_P already. The terms are those of an analysis of variance with random crossed effects (Cornfield and
 * Tukey 1956), and V is the multiway estimator of Cameron, Gelbach and Miller (2011), V_T + V_L + V_P − V_TL − V_TP −
 * V_LP + V_TLP, without its −V_TL + V_TLP: it counts the interaction of experts twice, which is on the safe side, and it is
 * not below V_P. (Owen 2007 bootstraps the same design.) Degrees of freedom are Satterthwaite's (1946),
 *
 *     df = V² / (V_P² / (K − 1) + Σ_F V_F² / (I − 1)), over the F that add to V, and not below the least of theirs.
 *
 * @param problems variance of the mean that problems alone cause, these models being given
 */
export const crossedSpread = (problems: Spread, factors: readonly Levels[]): Spread => {
  const parts = factors
    .map((levels) => {
      const own = spreadOf(levels.map(meanOf));
      return { own, excess: own.variance - withProblems(levels) };
    })
    .filter(({ excess }) => excess > 0);
  const variance = parts.reduce((sum, { excess }) => sum + excess, problems.variance);
  const uncertainty = [problems, ...parts.map(({ own }) => own)].reduce(
    (sum, of) => sum + of.variance ** 2 / of.df,
    0,
  );
  const df = uncertainty > 0 ? variance ** 2 / uncertainty : Number.POSITIVE_INFINITY;
  return { variance, df: Math.max(df, Math.min(problems.df, ...parts.map(({ own }) => own.df))) };
};

/**
 * Returns a variance that is not below `crossedSpread`'s: V_P + Σ_F V_F, nothing taken off. With two or three experts
 * V_F − V_FP is below 0 in many studies in which experts do differ; a claim that a difference is small must not rest on that.
 */
export const crossedSpreadAtMost = (problems: Spread, factors: readonly Levels[]): Spread => {
  const parts = [problems, ...factors.map((levels) => spreadOf(levels.map(meanOf)))];
  const variance = parts.reduce((sum, of) => sum + of.variance, 0);
  const uncertainty = parts.reduce((sum, of) => sum + of.variance ** 2 / of.df, 0);
  return { variance, df: uncertainty > 0 ? variance ** 2 / uncertainty : Number.POSITIVE_INFINITY };
};

/** V_FP: what problems add to the variance of the mean over levels. Of one problem it cannot be told: 0. */
const withProblems = (levels: Levels): number => {
  const [count, n] = [levels.length, itemAt(levels, 0).length];
  if (n < 2) return 0;
  const means = levels.map(meanOf);
  const mean = meanOf(means);
  let squares = 0;
  for (let problem = 0; problem < n; problem += 1) {
    const ofProblem = meanOf(levels.map((level) => level[problem] as number));
    for (const [at, level] of levels.entries())
      squares += ((level[problem] as number) - itemAt(means, at) - ofProblem + mean) ** 2;
  }
  return squares / ((count - 1) * (n - 1) * count * n);
};
