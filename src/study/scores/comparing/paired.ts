import { itemAt } from '../../../core/base/errors/lookup.js';
import type { EvaluationResult } from '../../evaluation/result.js';
import { intervalOf, type Located, pOfZero } from '../intervals/bounded.js';
import { type ChoiceSpread, choiceErrors, choiceSpread } from '../intervals/chosen.js';
import { crossedSpread, spreadOf } from '../intervals/crossed.js';
import { meanOfPaired, type PairedScores, pairColumns } from '../intervals/paired-scores.js';
import type { Row } from '../intervals/rows.js';
import { estimandOf } from '../intervals/sampled.js';
import { meanOverProblems, type Scaled } from '../intervals/scaled.js';
import { bonettPrice, type Interval, level, withZero } from '../intervals/shares.js';
import { alignResults, type Column, whyUnpaired } from '../reading/align.js';
import { isHigherBetter } from '../reading/metrics.js';
import { isSameScore, rowScores, scoreOfRow } from '../reading/row-score.js';
import { adjustByHolm, binomialCdf } from '../statistics/distributions.js';
import { meanOf } from '../statistics/mean.js';
import type { Resampling } from '../statistics/resample.js';

/** Compares two models, or rows of a table, on the same problems, on the harness's scale, not in percent. */
export interface PairedComparison {
  readonly n: number;
  /** Scores of `a` and `b`; for rows, means over models. */
  readonly scores: readonly [a: number, b: number];
  /** First score minus the second. */
  readonly difference: number;
  readonly higherIsBetter: boolean;
  /** Problems that only A solved; undefined for rows of several models, and scores that are not binary. */
  readonly onlyA: number | undefined;
  readonly onlyB: number | undefined;
  /**
   * Two-sided p-value. For two single models with binary scores, McNemar's exact test; otherwise Student's t
   * from the difference and its standard error. If k problems differ, p is at least 2^(1 - k), as in an exact
   * test of k signs.
   */
  readonly p: number | undefined;
  /** `bootstrap`: Student's t, with the error from resamples that repeat the choice. */
  readonly test: 'mcnemar' | 't' | 'bootstrap' | undefined;
  readonly interval: Interval | undefined;
  readonly stderr: number | undefined;
  /** Population of `p` and `interval`, such as `task experts, language experts and problems like these`. */
  readonly estimand: string | undefined;
  /** Reason why `interval` is undefined. */
  readonly reason: string | undefined;
}

/**
 * Compares two models problem by problem.
 *
 * @returns only the difference and the reason, if there are no results by problem (BLEU, imports without
 *   samples)
 * @throws RESULTS_NOT_PAIRED if problems or prompts differ
 */
export const comparePaired = (
  a: EvaluationResult,
  b: EvaluationResult,
  metric: string,
  options: Resampling = {},
): PairedComparison => comparePooled([a], [b], metric, options);

/**
 * Compares the means of two sets of models. Problems are a sample, models are fixed.
 *
 * @throws RESULTS_NOT_PAIRED as `comparePaired`
 */
export const comparePooled = (
  a: readonly EvaluationResult[],
  b: readonly EvaluationResult[],
  metric: string,
  options: Resampling = {},
): PairedComparison => compareRows({ results: a }, { results: b }, metric, options);

/**
 * Compares the means of two rows of a table on one task. Experts and the problems, which all models share,
 * are samples with crossed effects (`crossed.ts`). If a row was chosen on the same problems, resamples repeat
 * the choice (`chosen.ts`).
 *
 * @throws RESULTS_NOT_PAIRED as `comparePaired`
 */
export const compareRows = (a: Row, b: Row, metric: string, options: Resampling = {}): PairedComparison => {
  const results = [...a.results, ...b.results];
  const candidates = [a, b].map((row) => row.candidates ?? [row.results]);
  const all = [...results, ...candidates.flat(2)];
  const higherIsBetter = isHigherBetter(itemAt(results, 0), metric);
  const reason = whyUnpaired(all, metric);
  if (reason !== undefined) return { ...unpaired(a.results, b.results, metric, reason), higherIsBetter };
  const aligned = alignResults(all, metric);
  const [rowA, rowB] = [
    aligned.columns.slice(0, a.results.length),
    aligned.columns.slice(a.results.length, results.length),
  ];
  const scoreOf = (columns: readonly Column[]) => scoreOfRow(rowScores(columns, aligned.aggregate));
  const scores = [scoreOf(rowA), scoreOf(rowB)] as const;
  const facts = { n: aligned.n, scores, higherIsBetter, reason: undefined };
  const isChosen = a.candidates !== undefined || b.candidates !== undefined;
  if (results.length === 2 && aligned.isBinary && !isChosen)
    return { ...facts, ...ofTwoModels(rowA, rowB, aligned.n, a.isOnePair === true || b.isOnePair === true) };
  const paired = pairColumns({ ...a, columns: rowA }, { ...b, columns: rowB }, aligned);
  const difference = rounded(
    aligned.aggregate.isMean ? meanOverProblems(paired.byProblem) : scores[0] - scores[1],
  );
  if (!isChosen) return { ...facts, ...ofPaired(paired, difference, [paired.byProblem]) };
  let from = results.length;
  const sides = candidates.map((rows) =>
    rows.map(({ length }) => {
      from += length;
      const columns = aligned.columns.slice(from - length, from);
      return { columns, scores: rowScores(columns, aligned.aggregate) };
    }),
  );
  const [ofA, ofB] = choiceErrors(
    sides.map((rows) => rows.map((row) => row.scores)),
    higherIsBetter ? 1 : -1,
    aligned.n,
    options,
  );
  const errors = (ofA as Float64Array).map((error, at) => error - ((ofB as Float64Array)[at] as number));
  const [bestA, bestB] = sides.map((rows, side) =>
    rows.filter((row) => isSameScore(scoreOfRow(row.scores), itemAt(scores, side))),
  );
  const alike = (bestA ?? []).flatMap(({ columns }) =>
    (bestB ?? []).map((other) => pairColumns({ columns }, other, aligned).byProblem),
  );
  return { ...facts, ...ofPaired(paired, difference, alike, choiceSpread(errors, alike)) };
};

/**
 * @param alike differences by problem for all rows as good as the chosen ones, including these
 * @param choice effect of choosing rows on the same problems
 */
const ofPaired = (
  { byProblem, factors, estimand, range }: PairedScores,
  difference: number,
  alike: readonly Scaled[],
  choice?: ChoiceSpread,
) => {
  const facts = { difference, onlyA: undefined, onlyB: undefined };
  const { values, divisor } = byProblem;
  const least = Math.max(...alike.map(leastOf));
  if (alike.every((of) => isConstant(of, difference)))
    return {
      ...{ ...facts, ...unknown, p: difference === 0 ? 1 : least, test: 't' as const },
      reason: 'the difference is the same on every problem',
    };
  const { bias, spread: problems } = choice ?? { bias: 0, spread: spreadOf(values, divisor) };
  const spread = crossedSpread(
    problems,
    factors.map((of) => of.levels),
  );
  const located: Located = { center: difference - bias, mean: difference, spread, range, n: values.length };
  const p = Math.max(pOfZero(located), least);
  const own = intervalOf(located);
  return {
    ...facts,
    p,
    test: choice === undefined ? ('t' as const) : ('bootstrap' as const),
    interval: own === undefined || p < level ? own : withZero(own),
    stderr: Math.sqrt(spread.variance),
    estimand,
  };
};

/**
 * Returns the mean over languages of comparisons of the same rows.
 *
 * @param paired undefined without results by problem
 */
export const meanOfComparisons = (
  comparisons: readonly PairedComparison[],
  paired: readonly (PairedScores | undefined)[],
): PairedComparison => {
  const mean = (of: (comparison: PairedComparison) => number) => meanOf(comparisons.map(of));
  const facts = {
    n: Math.min(...comparisons.map(({ n }) => n)),
    scores: [mean(({ scores }) => scores[0]), mean(({ scores }) => scores[1])] as const,
    difference: rounded(mean(({ difference }) => difference)),
    higherIsBetter: itemAt(comparisons, 0).higherIsBetter,
  };
  const known = paired.filter((of) => of !== undefined);
  const whole = known.length < paired.length ? undefined : meanOfPaired(known);
  if (whole !== undefined)
    return { ...facts, reason: undefined, ...ofPaired(whole, facts.difference, [whole.byProblem]) };
  const reason =
    known.length < paired.length
      ? 'a language has no results by problem'
      : 'the languages have different numbers of problems';
  return { ...facts, ...unknown, onlyA: undefined, onlyB: undefined, reason };
};

const ofTwoModels = (a: readonly Column[], b: readonly Column[], n: number, isOnePair: boolean) => {
  const { onlyA, onlyB } = discordant(itemAt(a, 0), itemAt(b, 0));
  const p = mcnemarExact(onlyA, onlyB);
  const interval = bonettPrice(onlyA, onlyB, n);
  return {
    difference: (onlyA - onlyB) / n,
    onlyA,
    onlyB,
    p,
    test: 'mcnemar' as const,
    interval: p < level ? interval : withZero(interval),
    stderr: Math.sqrt(((onlyA + onlyB) / n - ((onlyA - onlyB) / n) ** 2) / (n - 1)),
    estimand: estimandOf([], { isOnePair }),
  };
};

const unknown = {
  p: undefined,
  test: undefined,
  interval: undefined,
  stderr: undefined,
  estimand: undefined,
} as const;

const unpaired = (
  a: readonly EvaluationResult[],
  b: readonly EvaluationResult[],
  metric: string,
  reason: string,
): Omit<PairedComparison, 'higherIsBetter'> => {
  const mean = (results: readonly EvaluationResult[]) =>
    meanOf(results.map(({ metrics }) => metrics[metric] ?? Number.NaN));
  const scores = [mean(a), mean(b)] as const;
  return {
    ...unknown,
    n: Math.min(...[...a, ...b].map(({ n }) => n)),
    scores,
    difference: scores[0] - scores[1],
    onlyA: undefined,
    onlyB: undefined,
    reason,
  };
};

const discordant = (a: Column, b: Column): { onlyA: number; onlyB: number } => {
  let [onlyA, onlyB] = [0, 0];
  for (const [at, score] of a.sums.entries()) {
    const other = itemAt(b.sums, at);
    if (score > other) onlyA += 1;
    if (score < other) onlyB += 1;
  }
  return { onlyA, onlyB };
};

/** Returns McNemar's exact two-sided p-value: a binomial test of the discordant problems at one half. */
export const mcnemarExact = (onlyA: number, onlyB: number): number =>
  onlyA + onlyB === 0 ? 1 : Math.min(1, 2 * binomialCdf(Math.min(onlyA, onlyB), onlyA + onlyB, 0.5));

const isConstant = ({ values, divisor }: Scaled, value: number): boolean =>
  values.every((own) => Math.abs(own / divisor - value) < 1e-12);

/** Returns the p-value if all discordant problems had the same sign. */
const leastOf = ({ values, divisor }: Scaled): number =>
  Math.min(1, 2 ** (1 - values.filter((difference) => rounded(difference / divisor) !== 0).length));

/** Rounds tiny differences to 0, so that equal scores remain equal despite rounding errors. */
const rounded = (difference: number): number => (Math.abs(difference) < 1e-12 ? 0 : difference);

export const holm = (values: readonly (number | undefined)[]): (number | undefined)[] => {
  const given = values.filter((value) => value !== undefined);
  if (given.length === 0) return [...values];
  const adjusted = adjustByHolm(given);
  return values.map((value) => (value === undefined ? undefined : adjusted.shift()));
};
