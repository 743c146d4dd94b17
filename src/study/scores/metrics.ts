import { ownValue } from '../../core/base/lookup.js';
import { headlineMetric } from '../evaluation/data/task-facts.js';
import type { EvaluationResult } from '../evaluation/result.js';
import type { HeadlineMetric, ScoredModel } from './scored-experiment.js';

/** Returns the harness's name of a metric's standard error. */
export const standardErrorOf = (metric: string): string => {
  const [name, filter] = splitMetric(metric);
  return filter === undefined ? `${name}_stderr` : `${name}_stderr,${filter}`;
};

const splitMetric = (metric: string): [name: string, filter: string | undefined] => {
  const comma = metric.indexOf(',');
  return comma < 0 ? [metric, undefined] : [metric.slice(0, comma), metric.slice(comma + 1)];
};

/** Returns the metric's name without its filter: `exact_match`. */
export const nameOfMetric = (metric: string): string => splitMetric(metric)[0];

/** Returns the headline metric of each task that models have results of. */
export const headlineMetrics = (models: readonly ScoredModel[]): HeadlineMetric => {
  const metrics = new Map<string, Set<string>>();
  for (const { results } of models)
    for (const [task, result] of results) {
      const known = metrics.get(task) ?? new Set();
      for (const [metric, value] of Object.entries(result.metrics)) if (value !== null) known.add(metric);
      metrics.set(task, known);
    }
  return (task) => headlineMetric(task, metrics.get(task) ?? []);
};

/** The scale that figures of a metric are shown on. */
export interface Scale {
  readonly unit: 'percent' | 'BLEU' | 'perplexity' | 'raw';
  readonly factor: number;
  readonly digits: number;
}

/** Shares of problems, which tables show in percent as the paper does (Tables 1, 2, 6). */
const shares = /^(exact_match|em|acc|acc_norm|pass(_at_|@)\d+|f1|mc[12])$/;
const perplexities = /perplexity|bits_per_byte/;

/** Returns the scale of a metric: percent with one digit for shares, as it is for others. */
export const scaleOf = (metric: string): Scale => {
  const name = nameOfMetric(metric);
  if (shares.test(name)) return { unit: 'percent', factor: 100, digits: 1 };
  if (/^bleu/.test(name)) return { unit: 'BLEU', factor: 1, digits: 1 };
  if (perplexities.test(name)) return { unit: 'perplexity', factor: 1, digits: 3 };
  return { unit: 'raw', factor: 1, digits: 3 };
};

/** Least and largest value that a score or a difference can have; infinite where there is no bound. */
export type Range = readonly [least: number, most: number];

export const unbounded: Range = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY];

/** Returns the range of differences of scores. */
export const rangeOfDifference = ([least, most]: Range): Range => {
  const widest = most - least;
  return Number.isFinite(widest) ? [-widest, widest] : unbounded;
};

/** Returns what a score can be; unbounded where a score is something else, or the metric says nothing. */
export const rangeOf = (metric: string, scores: readonly number[]): Range => {
  const range = ranges[scaleOf(metric).unit](metric);
  return scores.every((score) => score >= range[0] && score <= range[1]) ? range : unbounded;
};

const ranges: Readonly<Record<Scale['unit'], (metric: string) => Range>> = {
  percent: () => [0, 1],
  BLEU: () => [0, 100],
  perplexity: (metric) => [nameOfMetric(metric) === 'bits_per_byte' ? 0 : 1, Number.POSITIVE_INFINITY],
  raw: () => unbounded,
};

/** Returns whether more is better, as the result states it; perplexities are better when lower. */
export const isHigherBetter = ({ higherIsBetter }: EvaluationResult, metric: string): boolean => {
  const name = nameOfMetric(metric);
  return ownValue(higherIsBetter, name) ?? !perplexities.test(name);
};

/** Computes the score of many problems from the sums of their scores and of their weights. */
export interface Aggregate {
  readonly of: (sum: number, weight: number) => number;
  /** True if the score of all problems is the mean of theirs. */
  readonly isMean: boolean;
}

/**
 * Returns how the harness aggregates a metric. Perplexities are exp(-Σ log-likelihood / Σ weight), the weight being
 * words, bytes or, for single numbers, problems; `bits_per_byte` is the same exponent in base 2; others are means.
 *
 * @param arePlain true if every problem's score is a number, without a weight
 */
export const aggregateOf = (metric: string, arePlain: boolean): Aggregate => {
  const name = nameOfMetric(metric);
  if (name === 'bits_per_byte') return { of: (sum, weight) => -sum / weight / Math.LN2, isMean: false };
  if (perplexities.test(name)) return { of: (sum, weight) => Math.exp(-sum / weight), isMean: false };
  return { of: (sum, weight) => sum / weight, isMean: arePlain };
};
