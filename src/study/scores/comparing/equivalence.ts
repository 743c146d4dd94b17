import { crossedSpreadAtMost, spreadOf } from '../intervals/crossed.js';
import type { PairedScores } from '../intervals/paired-scores.js';
import { meanOverProblems, type Scaled } from '../intervals/scaled.js';
import { level } from '../intervals/shares.js';
import { tAbove } from '../intervals/student.js';

/** Two one-sided tests of a difference against a margin, on the harness's scale, not in percent. */
export interface Equivalence {
  /** `out of reach`: with this standard error, even a difference of 0 would not pass. */
  readonly verdict: 'equivalent' | 'not shown' | 'out of reach';
  /** Larger p-value of the two tests. */
  readonly p: number;
  /** Smallest margin for which these results would pass. */
  readonly smallest: number;
  /** Smallest margin for which a difference of 0 would pass. */
  readonly reach: number;
}

/**
 * Tests whether a difference lies within ±`margin`, by two one-sided t tests (Schuirmann 1987) at 5 %.
 * The variance is estimated so that it stays above 0 even if few problems differ:
 *
 * - Two single models with binary scores: the variance that a true difference of `margin` would have (Tango
 *   1998).
 * - Otherwise: the upper estimate for crossed experts and problems (`crossedSpreadAtMost`), after adding two
 *   problems, each solved by one side only (Bonett and Price 2012). If scores are not binary, the added
 *   problems differ by the largest observed difference, one in each direction.
 *
 * @returns undefined if the scores are not binary and do not vary
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
  readonly difference: number;
  readonly pOf: (difference: number, margin: number) => number;
}

/** Tango's score test: the variance under the likeliest wins and losses if the margin were the difference. */
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

/** Returns the margin at which p is 5 %. p falls as the margin grows. */
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
