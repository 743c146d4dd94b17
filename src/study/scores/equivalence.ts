import { crossedSpreadAtMost, spreadOf } from './intervals/crossed.js';
import type { PairedScores } from './intervals/paired-scores.js';
import { meanOverProblems, type Scaled } from './intervals/scaled.js';
import { level } from './intervals/shares.js';
import { tAbove } from './intervals/student.js';

/** What two one-sided tests say of a difference and a margin. Figures are the harness's, not percent. */
export interface Equivalence {
  /** `out of reach`: not even a difference of 0 would pass with this standard error. */
  readonly verdict: 'equivalent' | 'not shown' | 'out of reach';
  /** The larger p-value of the two tests: that the difference is below the margin, and above minus the margin. */
  readonly p: number;
  /** The smallest margin within which these results are equivalent. */
  readonly smallest: number;
  /** The smallest margin that a difference of 0 would pass with this standard error. */
  readonly reach: number;
}

/**
 * Tests whether a difference lies within ±`margin`, by two one-sided tests (Schuirmann 1987) at 5 % each, of Student's t.
 * Few problems that differ are not read as none:
 *
 * - Where whole problems differ (one model against one), the variance is that of a true difference of `margin` (Tango 1998).
 * - Otherwise the variance is the most that problems and crossed experts make (`crossedSpreadAtMost`), with two problems added, one that only the first row solves and one that only the second does (as Bonett and Price 2012 have it). Of
 *   scores other than 0 and 1 they are the largest difference of a problem either way.
 *
 * @returns undefined where the scores do not vary, and are not 0 and 1
 */
export const equivalenceOf = (paired: PairedScores, margin: number): Equivalence | undefined => {
  const isWhole = paired.isBinary && paired.byProblem.divisor === 1;
  const test = isWhole ? wholeProblems(paired) : crossedMeans(paired);
  if (test === undefined) return undefined;
  const p = test.pOf(test.difference, margin);
  const reach = smallestOf((within) => test.pOf(0, within));
  const smallest = smallestOf((within) => test.pOf(test.difference, within));
  const verdict = p < level ? 'equivalent' : reach >= margin ? 'out of reach' : 'not shown';
  return { verdict, p, smallest, reach };
};

interface Test {
  /** Without its sign. */
  readonly difference: number;
  /** The larger p of both tests, of a difference and a margin. */
  readonly pOf: (difference: number, margin: number) => number;
}

/** Tango's score test: the variance of wins and losses that are most likely if their true difference is the margin. */
const wholeProblems = ({ byProblem }: PairedScores): Test => {
  const n = byProblem.values.length;
  const differing = byProblem.values.filter((own) => own !== 0).length;
  return {
    difference: Math.abs(meanOverProblems(byProblem)),
    pOf: (difference, margin) => {
      if (margin >= 1) return 0;
      const [wins, losses] = [(differing + n * difference) / 2, (differing - n * difference) / 2];
      const linear = (2 * n - wins + losses) * margin - differing;
      const root = Math.sqrt(linear ** 2 + 8 * n * losses * margin * (1 - margin));
      const lost = (root - linear) / (4 * n);
      const stderr = Math.sqrt((2 * lost + margin * (1 - margin)) / n);
      return stderr > 0 ? tAbove((margin - difference) / stderr, n - 1) : 1;
    },
  };
};

const crossedMeans = ({ byProblem, factors, isBinary }: PairedScores): Test | undefined => {
  const { values, divisor } = byProblem;
  const most = isBinary ? divisor : values.reduce((most, own) => Math.max(most, Math.abs(own)), 0);
  const all: Scaled = { values: Float64Array.from([...values, most, -most]), divisor };
  const levels = factors.map((of) => of.levels);
  const { variance, df } = crossedSpreadAtMost(spreadOf(all.values, divisor), levels);
  if (!(variance > 0)) return undefined;
  return {
    difference: Math.abs(meanOverProblems(all)),
    pOf: (difference, margin) => tAbove((margin - difference) / Math.sqrt(variance), df),
  };
};

/** Returns the margin at which p is 5 %: p falls as the margin grows. */
const smallestOf = (pOf: (margin: number) => number): number => {
  let [low, high] = [0, 1];
  while (pOf(high) > level && high < 1e9) high *= 2;
  while (high - low > 1e-12 * high) {
    const middle = (low + high) / 2;
    if (pOf(middle) > level) low = middle;
    else high = middle;
  }
  return high;
};
