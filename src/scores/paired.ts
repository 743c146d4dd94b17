import { itemAt } from '../base/lookup.js';
import type { EvaluationResult } from '../evaluation/result.js';
import { type Aligned, alignResults, type Column, meanScore, whyUnpaired } from './align.js';
import { adjustByHolm, binomialCdf } from './distributions.js';
import { type ChoiceSpread, choiceErrors, choiceSpread } from './intervals/chosen.js';
import { crossedSpread, spreadOf } from './intervals/crossed.js';
import { estimateAt } from './intervals/estimates.js';
import { meanOfPaired, type PairedScores, pairColumns } from './intervals/paired-scores.js';
import type { Row } from './intervals/rows.js';
import { estimandOf } from './intervals/sampled.js';
import { bonettPrice, type Interval } from './intervals/shares.js';
import { tTest } from './intervals/student.js';
import { meanOf } from './mean.js';
import { isHigherBetter } from './metrics.js';
import type { Resampling } from './resample.js';

/** A comparison of two models, or of two rows of a table, on the same problems. Figures are the harness's, not percent. */
export interface PairedComparison {
  /** Number of problems. */
  readonly n: number;
  /** Scores of `a` and `b`; for rows of several models, their means. */
  readonly scores: readonly [a: number, b: number];
  /** The first score less the second. */
  readonly difference: number;
  readonly higherIsBetter: boolean;
  /** Problems that only `a`, or only `b`, solves; undefined for rows of several models, and for scores that are not 0 or 1. */
  readonly onlyA: number | undefined;
  readonly onlyB: number | undefined;
  /**
   * Two-sided p-value: McNemar's exact test for one model against one with scores of 0 and 1, otherwise Student's t of
   * the difference and its standard error. It is not below 2^(1 - k) with k problems that differ: no exact test of
   * k signs gives less.
   */
  readonly p: number | undefined;
  /** `bootstrap`: t of a difference whose error is that of resamples, in each of which a row was chosen again. */
  readonly test: 'mcnemar' | 't' | 'bootstrap' | undefined;
  /** 95 % interval of the difference. */
  readonly interval: Interval | undefined;
  readonly stderr: number | undefined;
  /** What `p` and `interval` are about: `task experts, language experts and problems like these`. */
  readonly estimand: string | undefined;
  /** Why `interval` is undefined; undefined if it is not. */
  readonly reason: string | undefined;
}

/**
 * Compares two models problem by problem.
 *
 * @param metric as `metric,filter`
 * @returns without results by problem (BLEU, results imported without samples): the difference, and the reason
 * @throws LayerloomError RESULTS_NOT_PAIRED if the results are not of the same problems with the same prompts
 */
export const comparePaired = (
  a: EvaluationResult,
  b: EvaluationResult,
  metric: string,
  options: Resampling = {},
): PairedComparison => comparePooled([a], [b], metric, options);

/**
 * Compares the means of two sets of models, which stand for themselves alone: problems are what is sampled.
 *
 * @throws LayerloomError RESULTS_NOT_PAIRED as `comparePaired`
 */
export const comparePooled = (
  a: readonly EvaluationResult[],
  b: readonly EvaluationResult[],
  metric: string,
  options: Resampling = {},
): PairedComparison => compareRows({ results: a }, { results: b }, metric, options);

/**
 * Compares two rows of a table, each of one or several models (nine pairs), in one task: the difference of the means
 * over models. Problems, which all models share, and the experts that rows are samples of are crossed (`crossed.ts`). A
 * row that was chosen by the same problems is chosen again in each resample (`chosen.ts`).
 *
 * @throws LayerloomError RESULTS_NOT_PAIRED as `comparePaired`
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
  const scores = [meanScore(rowA, aligned.aggregate), meanScore(rowB, aligned.aggregate)] as const;
  const facts = {
    n: aligned.n,
    scores,
    difference: rounded(scores[0] - scores[1]),
    higherIsBetter,
    reason: undefined,
  };
  const isChosen = a.candidates !== undefined || b.candidates !== undefined;
  if (results.length === 2 && aligned.isBinary && !isChosen)
    return { ...facts, ...ofTwoModels(rowA, rowB, aligned.n, a.isOnePair === true || b.isOnePair === true) };
  const paired = pairColumns({ ...a, columns: rowA }, { ...b, columns: rowB }, aligned);
  const choice = isChosen
    ? choiceSpread(choiceDifferences(candidates, aligned, results.length, higherIsBetter, options), aligned.n)
    : undefined;
  return { ...facts, ...ofPaired(paired, facts.difference, choice) };
};

/** Returns what is known of the difference of paired scores. @param choice what choosing rows by the same problems has added */
const ofPaired = (
  { byProblem, factors, estimand }: PairedScores,
  difference: number,
  choice: ChoiceSpread | undefined,
) => {
  const none = { onlyA: undefined, onlyB: undefined };
  const least = leastOf(byProblem);
  if (byProblem.every((own) => Math.abs(own - difference) < 1e-12))
    return {
      ...{ ...none, ...unknown, p: difference === 0 ? 1 : least, test: 't' as const },
      reason: 'the difference is the same on every problem',
    };
  const { bias, spread } = choice ?? { bias: 0, spread: spreadOf(byProblem) };
  const levels = factors.map((of) => of.levels);
  const { stderr, df, interval } = estimateAt(difference - bias, crossedSpread(spread, levels), estimand);
  const p = Math.min(1, Math.max(tTest((difference - bias) / stderr, df), least));
  const test = choice === undefined ? ('t' as const) : ('bootstrap' as const);
  return { ...none, p, test, interval, stderr, estimand };
};

/**
 * Returns the mean of comparisons of the same rows in several languages.
 *
 * @param paired the scores that each of them is of; undefined for those without results by problem
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
    return { ...facts, reason: undefined, ...ofPaired(whole, facts.difference, undefined) };
  const reason =
    known.length < paired.length
      ? 'a language has no results by problem'
      : 'the languages have different numbers of problems';
  return { ...facts, ...unknown, onlyA: undefined, onlyB: undefined, reason };
};

const ofTwoModels = (a: readonly Column[], b: readonly Column[], n: number, isOnePair: boolean) => {
  const { onlyA, onlyB } = discordant(itemAt(a, 0), itemAt(b, 0));
  return {
    onlyA,
    onlyB,
    p: mcnemarExact(onlyA, onlyB),
    test: 'mcnemar' as const,
    interval: bonettPrice(onlyA, onlyB, n),
    stderr: Math.sqrt(((onlyA + onlyB) / n - ((onlyA - onlyB) / n) ** 2) / (n - 1)),
    estimand: estimandOf([], { isOnePair }),
  };
};

/** By resample: the error of the difference of two rows that are each chosen again from their candidates. */
const choiceDifferences = (
  candidates: readonly (readonly (readonly EvaluationResult[])[])[],
  aligned: Aligned,
  firstCandidate: number,
  higherIsBetter: boolean,
  options: Resampling,
): Float64Array => {
  let from = firstCandidate;
  const [ofA, ofB] = candidates.map((rows) => {
    const columns = rows.map(({ length }) => {
      from += length;
      return aligned.columns.slice(from - length, from);
    });
    return choiceErrors({ rows: columns, sign: higherIsBetter ? 1 : -1 }, aligned, options);
  }) as [Float64Array, Float64Array];
  return ofA.map((error, at) => error - (ofB[at] as number));
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
    results.reduce((sum, { metrics }) => sum + (metrics[metric] ?? Number.NaN), 0) / results.length;
  const scores = [mean(a), mean(b)] as const;
  return {
    ...unknown,
    n: itemAt(a, 0).n,
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

/** Returns McNemar's exact two-sided p-value: the binomial test of the discordant problems at a share of one half. */
export const mcnemarExact = (onlyA: number, onlyB: number): number =>
  onlyA + onlyB === 0 ? 1 : Math.min(1, 2 * binomialCdf(Math.min(onlyA, onlyB), onlyA + onlyB, 0.5));

/** The least two-sided p-value that problems which differ between two rows allow: that of equal signs. */
const leastOf = (byProblem: Float64Array): number =>
  2 ** (1 - byProblem.filter((difference) => rounded(difference) !== 0).length);

/** Takes the rounding errors of sums for 0, so that equal scores count as equal. */
const rounded = (difference: number): number => (Math.abs(difference) < 1e-12 ? 0 : difference);

/** Returns p-values adjusted by Holm's method for as many comparisons; undefined ones are not counted. */
export const holm = (values: readonly (number | undefined)[]): (number | undefined)[] => {
  const given = values.filter((value) => value !== undefined);
  if (given.length === 0) return [...values];
  const adjusted = adjustByHolm(given);
  return values.map((value) => (value === undefined ? undefined : adjusted.shift()));
};
