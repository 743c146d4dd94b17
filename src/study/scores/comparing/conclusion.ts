import { level } from '../intervals/shares.js';
import { nameOfMetric, scaleOf } from '../reading/metrics.js';
import { fixed, pText } from '../reading/score-table.js';
import type { PairedComparison } from './paired.js';

// Verdicts and their words in tables, reports and searches.

/** Fewest problems for a verdict. With 29, a share's standard error may exceed 9 points. */
export const fewestProblems = 30;

/** Verdict on the first side of a comparison. */
export type Verdict =
  | 'better'
  | 'worse'
  | 'within noise'
  /** Significant alone, but the better side was chosen on these problems from too many candidates. */
  | 'chosen among many'
  /** The difference is significant alone, but not after adjustment for all comparisons. */
  | 'one of many'
  | 'too few problems'
  | 'at floor'
  | 'at ceiling'
  | 'not tested';

/** Facts about a comparison of two sides, on the harness's scale, not in percent. */
export interface ComparedFacts {
  /** `metric,filter` */
  readonly metric: string;
  readonly higherIsBetter: boolean;
  readonly n: number;
  readonly scores: readonly [first: number, second: number];
  readonly difference: number;
  readonly interval?: readonly [low: number, high: number] | null | undefined;
  /** Population that the interval describes, such as `these experts`. */
  readonly estimand?: string | null | undefined;
  /** Two-sided p-value of this comparison by itself; below 5 % if the interval excludes 0. */
  readonly p?: number | null | undefined;
  /** p adjusted for all comparisons, and their number; undefined for a single comparison. */
  readonly adjusted?: { readonly p: number; readonly comparisons: number } | undefined;
  /** `bootstrap`: resamples repeat a choice that was made on these problems. */
  readonly test?: PairedComparison['test'] | null;
  /** Number of candidates from which each side was chosen on these problems. */
  readonly candidates?: { readonly first?: number; readonly second?: number } | undefined;
}

/** Verdict on a comparison, in words and figures. */
export interface Conclusion {
  readonly verdict: Verdict;
  /** Words for use alone or after "is": `within noise`, `too few problems to say`. */
  readonly words: string;
  /**
   * Figures, and the number of problems: `+2.4 points`, `higher is better`, `95 % interval −1.0 to +5.8`,
   * `p = 0.190`, `250 problems`.
   */
  readonly evidence: readonly string[];
  readonly difference: string | null;
  readonly interval: string | null;
  /** Population that the interval describes; null without an interval. */
  readonly estimand: string | null;
}

const verdictWords: Readonly<Record<Verdict, string>> = {
  better: 'better',
  worse: 'worse',
  'within noise': 'within noise',
  'chosen among many': 'not shown to differ',
  'one of many': 'not shown to differ',
  'too few problems': 'too few problems to say',
  'at floor': 'at the floor of the metric',
  'at ceiling': 'at the ceiling of the metric',
  'not tested': 'not tested',
};

/**
 * Returns the verdict on a comparison. A side is better if the interval excludes 0 and p is below 5 % before
 * and after adjustment for all comparisons. If the better side was chosen on these problems and the test does
 * not repeat the choice, p is multiplied by the number of candidates (Bonferroni).
 */
export const conclude = (facts: ComparedFacts): Conclusion => {
  const verdict = verdictOf(facts);
  const isShown = facts.interval != null && !isUnsaid(verdict);
  return {
    verdict,
    words: verdictWords[verdict],
    evidence: evidenceOf(facts, verdict),
    difference: isUnsaid(verdict) ? null : differenceText(facts),
    interval: isShown ? intervalText(facts) : null,
    estimand: (isShown ? facts.estimand : null) ?? null,
  };
};

/** True if the verdict allows no statement, whatever the difference. */
export const isUnsaid = (verdict: Verdict): boolean =>
  verdict === 'too few problems' || verdict === 'at floor' || verdict === 'at ceiling';

const verdictOf = (facts: ComparedFacts): Verdict => {
  const { metric, higherIsBetter, n, scores, difference, interval, p, adjusted, test } = facts;
  if (n < fewestProblems) return 'too few problems';
  const end = endOf(metric, n, scores);
  if (end !== undefined) return end;
  if (interval == null && p == null) return 'not tested';
  const isInside = interval != null && interval[0] <= 0 && interval[1] >= 0;
  if (difference === 0 || isInside || (p != null && p >= level)) return 'within noise';
  const isBetter = higherIsBetter ? difference > 0 : difference < 0;
  const { first = 1, second = 1 } = facts.candidates ?? {};
  const times = test === 'bootstrap' ? 1 : isBetter ? first : second;
  if (times > 1 && (p == null || p * times >= level)) return 'chosen among many';
  if (adjusted !== undefined && adjusted.p >= level) return 'one of many';
  return isBetter ? 'better' : 'worse';
};

/** Returns the end of the scale if all scores are within one problem of it. */
const endOf = (
  metric: string,
  n: number,
  scores: readonly number[],
): 'at floor' | 'at ceiling' | undefined => {
  const { unit } = scaleOf(metric);
  // BLEU below 0.05 is shown as 0.
  const least = unit === 'percent' ? 1 / n : unit === 'BLEU' ? 0.05 : 0;
  if (scores.every((score) => score < least && least > 0)) return 'at floor';
  return unit === 'percent' && scores.every((score) => 1 - score < least) ? 'at ceiling' : undefined;
};

const problems = (n: number): string => `${n} ${n === 1 ? 'problem' : 'problems'}`;

const evidenceOf = (facts: ComparedFacts, verdict: Verdict): string[] => {
  const { metric, n, scores, p, adjusted, candidates = {} } = facts;
  const { factor, digits } = scaleOf(metric);
  if (verdict === 'too few problems') return [problems(n), `at least ${fewestProblems} are needed`];
  if (verdict === 'at floor' || verdict === 'at ceiling')
    return [scores.map((score) => fixed(score * factor, digits)).join(' and '), problems(n)];
  const { first = 1, second = 1 } = candidates;
  const interval = intervalText(facts);
  return [
    differenceText(facts),
    facts.higherIsBetter ? 'higher is better' : 'lower is better',
    ...(interval === null ? [] : [`95 % interval ${interval}`]),
    ...(p == null ? [] : [pText(p)]),
    ...(adjusted === undefined || adjusted.comparisons < 2
      ? []
      : [`${pText(adjusted.p)} among ${adjusted.comparisons} comparisons`]),
    problems(n),
    ...(first > 1 ? [`chosen among ${first} on them`] : []),
    ...(second > 1 ? [`against the best of ${second} on them`] : []),
    ...(verdict === 'not tested' ? ['no results by problem'] : []),
  ];
};

/** Formats a number with its sign on the shown scale; the minus is U+2212. */
const signedScore = (value: number, metric: string): string => {
  const { factor, digits } = scaleOf(metric);
  const text = fixed(Math.abs(value) * factor, digits);
  return `${value < 0 && Number(text) !== 0 ? '−' : '+'}${text}`;
};

const intervalText = ({ metric, interval }: ComparedFacts): string | null =>
  interval == null ? null : interval.map((end) => signedScore(end, metric)).join(' to ');

const differenceText = ({ metric, difference }: ComparedFacts): string => {
  const { unit } = scaleOf(metric);
  const words =
    unit === 'percent' ? 'points' : unit === 'BLEU' ? 'BLEU' : nameOfMetric(metric).replaceAll('_', ' ');
  return `${signedScore(difference, metric)} ${words}`;
};

/** Formats a conclusion as a sentence that begins with `first`, such as `The choice`. */
export const sentenceOf = (conclusion: Conclusion, first: string, second: string): string => {
  const { verdict, words } = conclusion;
  const evidence =
    conclusion.evidence.join(', ') +
    (conclusion.estimand === null ? '' : `; the interval is for ${conclusion.estimand}`);
  switch (verdict) {
    case 'better':
    case 'worse':
      return `${first} is ${words} than ${second}: ${evidence}.`;
    case 'within noise':
      return `${first} is within noise of ${second}: ${evidence}.`;
    case 'chosen among many':
      return `${first} is ${words} from ${second}, because the better one was chosen by its score on the same problems: ${evidence}.`;
    case 'one of many':
      return `${first} is ${words} from ${second} after adjustment for all comparisons, though significant alone: ${evidence}.`;
    case 'too few problems':
      return `${first} cannot be compared with ${second}: ${words} (${evidence}).`;
    case 'at floor':
    case 'at ceiling':
      return `${first} and ${second} are both ${words}, so they cannot be compared: ${evidence}.`;
    case 'not tested':
      return `${first} is ${words} against ${second}: ${evidence}.`;
  }
};

export interface RankedFacts {
  readonly metric: string;
  /** Number of problems; undefined for published figures, which do not state it. */
  readonly n: number | undefined;
  readonly scores: readonly number[];
}

export const whyTooFew = (n: number): string | undefined =>
  n < fewestProblems
    ? `${verdictWords['too few problems']} (${problems(n)}, at least ${fewestProblems} are needed)`
    : undefined;

/** Returns why none of several scores may be called the best; undefined if one may. */
export const whyNoBest = ({ metric, n, scores }: RankedFacts): string | undefined => {
  if (n === undefined) return undefined;
  const few = whyTooFew(n);
  if (few !== undefined) return few;
  const end = scores.length === 0 ? undefined : endOf(metric, n, scores);
  if (end !== undefined) return `all are ${verdictWords[end]} (${problems(n)})`;
  return scores.length > 1 && areEqual(scores) ? `all are equal (${problems(n)})` : undefined;
};

const areEqual = (values: readonly number[]): boolean => Math.max(...values) - Math.min(...values) < 1e-12;
