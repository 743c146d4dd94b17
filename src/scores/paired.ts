import binomialCdf from '@stdlib/stats-base-dists-binomial-cdf';
import padjust from '@stdlib/stats-padjust';
import type { EvaluationResult } from '../evaluation/result.js';
import { itemAt } from '../lookup.js';
import { type Aligned, alignResults, type Column, meanScore, whyUnpaired } from './align.js';
import { isHigherBetter } from './metrics.js';
import { defaultResampling, quantile, type Resampling, resamplesOf } from './resample.js';

/** A comparison of two models, or of two rows of a table, on the same problems. Figures are the harness's, not percent. */
export interface PairedComparison {
  /** Number of problems. */
  readonly n: number;
  /** Score of `a` less that of `b`; for rows of several models, the difference of their means. */
  readonly difference: number;
  readonly higherIsBetter: boolean;
  /** Problems that only `a`, or only `b`, solves; undefined for rows of several models, and for scores that are not 0 or 1. */
  readonly onlyA: number | undefined;
  readonly onlyB: number | undefined;
  /**
   * Two-sided p-value: McNemar's exact test for one model against one with scores of 0 and 1, otherwise the paired
   * bootstrap's, 2 · min(share of resampled differences ≤ 0, share ≥ 0), each share counting one resample more, and
   * not below 2^(1 - k) with k problems that differ: no exact test of k signs gives less, and resamples of a few
   * problems repeat the same few.
   */
  readonly p: number | undefined;
  readonly test: 'mcnemar' | 'bootstrap' | undefined;
  /** 95 % percentile interval of the difference, from resampled problems. */
  readonly interval: readonly [low: number, high: number] | undefined;
  /** Why `p` and `interval` are undefined; undefined if they are not. */
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
 * Compares two rows of a table, each of one or several models (nine pairs), in one task: the difference of the means
 * over models. Problems are the unit: a resample takes a problem with the outcomes of all models (a cluster bootstrap),
 * since models share problems.
 *
 * @throws LayerloomError RESULTS_NOT_PAIRED as `comparePaired`
 */
export const comparePooled = (
  a: readonly EvaluationResult[],
  b: readonly EvaluationResult[],
  metric: string,
  options: Resampling = {},
): PairedComparison => {
  const results = [...a, ...b];
  const higherIsBetter = isHigherBetter(itemAt(results, 0), metric);
  const reason = whyUnpaired(results, metric);
  if (reason !== undefined) return { ...unpaired(a, b, metric, reason), higherIsBetter };
  const aligned = alignResults(results, metric);
  const columns = [aligned.columns.slice(0, a.length), aligned.columns.slice(a.length)] as const;
  const difference = meanScore(columns[0], aligned.aggregate) - meanScore(columns[1], aligned.aggregate);
  const { interval, p } = bootstrap(columns, aligned, options);
  const isOneToOne = results.length === 2 && aligned.isBinary;
  const { onlyA, onlyB } = isOneToOne
    ? discordant(itemAt(columns[0], 0), itemAt(columns[1], 0))
    : { onlyA: undefined, onlyB: undefined };
  return {
    n: aligned.n,
    difference,
    higherIsBetter,
    onlyA,
    onlyB,
    ...(onlyA === undefined
      ? { p, test: 'bootstrap' as const }
      : { p: mcnemarExact(onlyA, onlyB), test: 'mcnemar' as const }),
    interval,
    reason: undefined,
  };
};

const unpaired = (
  a: readonly EvaluationResult[],
  b: readonly EvaluationResult[],
  metric: string,
  reason: string,
): Omit<PairedComparison, 'higherIsBetter'> => {
  const mean = (results: readonly EvaluationResult[]) =>
    results.reduce((sum, { metrics }) => sum + (metrics[metric] ?? Number.NaN), 0) / results.length;
  const none = { onlyA: undefined, onlyB: undefined, p: undefined, test: undefined, interval: undefined };
  return { n: itemAt(a, 0).n, difference: mean(a) - mean(b), ...none, reason };
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

const bootstrap = (
  columns: Columns,
  { n, aggregate }: Aligned,
  { resamples = defaultResampling.resamples, seed = defaultResampling.seed }: Resampling,
): { interval: [number, number]; p: number } => {
  const differenceOf = aggregate.isMean ? meanDifference(columns, n) : scoreDifference(columns, aggregate);
  const differences = new Float64Array(resamples);
  let [atMost, atLeast, index] = [1, 1, 0];
  for (const counts of resamplesOf(n, { resamples, seed })) {
    const difference = rounded(differenceOf(counts));
    if (difference <= 0) atMost += 1;
    if (difference >= 0) atLeast += 1;
    differences[index] = difference;
    index += 1;
  }
  differences.sort();
  return {
    interval: [quantile(differences, 0.025), quantile(differences, 0.975)],
    p: Math.min(1, Math.max((2 * Math.min(atMost, atLeast)) / (resamples + 1), leastOf(columns, n))),
  };
};

/** The least two-sided p-value that problems which differ between two rows allow: that of equal signs. */
const leastOf = (columns: Columns, n: number): number => {
  const own = problemDifferences(columns, n);
  return 2 ** (1 - own.filter((difference) => rounded(difference) !== 0).length);
};

type Columns = readonly [readonly Column[], readonly Column[]];

/** Difference of scores that are means: one pass over the problems' own differences, however many models there are. */
const meanDifference = (columns: Columns, n: number): ((counts: Uint16Array) => number) => {
  const own = problemDifferences(columns, n);
  return (counts) => {
    let total = 0;
    for (let at = 0; at < n; at += 1) total += (own[at] as number) * (counts[at] as number);
    return total / n;
  };
};

/** Each problem's mean score, over models, of the first row less that of the second. */
const problemDifferences = ([a, b]: Columns, n: number): Float64Array => {
  const own = new Float64Array(n);
  for (const [columns, sign] of [[a, 1] as const, [b, -1] as const])
    for (const { sums } of columns)
      for (const [at, sum] of sums.entries()) own[at] = (own[at] as number) + (sign * sum) / columns.length;
  return own;
};

const scoreDifference =
  ([a, b]: Columns, aggregate: Aligned['aggregate']) =>
  (counts: Uint16Array): number =>
    meanScore(a, aggregate, counts) - meanScore(b, aggregate, counts);

/** Takes the rounding errors of sums for 0, so that equal scores count as equal. */
const rounded = (difference: number): number => (Math.abs(difference) < 1e-12 ? 0 : difference);

/** Returns p-values adjusted by Holm's method for as many comparisons; undefined ones are not counted. */
export const holm = (values: readonly (number | undefined)[]): (number | undefined)[] => {
  const given = values.filter((value) => value !== undefined);
  if (given.length === 0) return [...values];
  const adjusted = [...padjust(given, 'holm')];
  return values.map((value) => (value === undefined ? undefined : adjusted.shift()));
};
