import { ownValue } from '../../../core/base/errors/lookup.js';
import { headlineMetric } from '../../evaluation/data/task-facts.js';
import type { EvaluationResult } from '../../evaluation/result.js';
import type { HeadlineMetric, ScoredModel } from './scored-experiment.js';

export const standardErrorOf = (metric: string): string => {
  const [name, filter] = splitMetric(metric);
  return filter === undefined ? `${name}_stderr` : `${name}_stderr,${filter}`;
};

const splitMetric = (metric: string): [name: string, filter: string | undefined] => {
  const comma = metric.indexOf(',');
  return comma < 0 ? [metric, undefined] : [metric.slice(0, comma), metric.slice(comma + 1)];
};

export const nameOfMetric = (metric: string): string => splitMetric(metric)[0];

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

export interface Scale {
  readonly unit: 'percent' | 'BLEU' | 'perplexity' | 'raw';
  readonly factor: number;
  readonly digits: number;
}

/** Metrics shown in percent, as in the paper (Tables 1, 2, 6). */
const shares = /^(exact_match|em|acc|acc_norm|pass(_at_|@)\d+|maj@\d+|f1|mc[12])$/;
const perplexities = /perplexity|bits_per_byte/;

export const scaleOf = (metric: string): Scale => {
  const name = nameOfMetric(metric);
  if (shares.test(name)) return { unit: 'percent', factor: 100, digits: 1 };
  if (/^bleu/.test(name)) return { unit: 'BLEU', factor: 1, digits: 1 };
  if (perplexities.test(name)) return { unit: 'perplexity', factor: 1, digits: 3 };
  return { unit: 'raw', factor: 1, digits: 3 };
};

/** Bounds of scores; may be infinite. */
export type Range = readonly [least: number, most: number];

export const unbounded: Range = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY];

export const rangeOfDifference = ([least, most]: Range): Range => {
  const widest = most - least;
  return Number.isFinite(widest) ? [-widest, widest] : unbounded;
};

/** Returns a metric's range; unbounded if the range is unknown or a score is outside it. */
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

/** True if a higher score is better: as the result states, otherwise for all metrics but perplexities. */
export const isHigherBetter = ({ higherIsBetter }: EvaluationResult, metric: string): boolean => {
  const name = nameOfMetric(metric);
  return ownValue(higherIsBetter, name) ?? !perplexities.test(name);
};

/** Computes a score over problems from sums of scores and weights. */
export interface Aggregate {
  readonly of: (sum: number, weight: number) => number;
  /** True if the score is the mean of the problems' scores. */
  readonly isMean: boolean;
}

/**
 * Returns how the harness aggregates a metric. Perplexities are exp(-Σ log-likelihood / Σ weight), where
 * weights count words or bytes, or are 1 per problem if scores are plain numbers. `bits_per_byte` is that
 * exponent divided by ln 2. Other metrics are means.
 *
 * @param arePlain true if no score has a weight
 */
export const aggregateOf = (metric: string, arePlain: boolean): Aggregate => {
  const name = nameOfMetric(metric);
  if (name === 'bits_per_byte') return { of: (sum, weight) => -sum / weight / Math.LN2, isMean: false };
  if (perplexities.test(name)) return { of: (sum, weight) => Math.exp(-sum / weight), isMean: false };
  return { of: (sum, weight) => sum / weight, isMean: arePlain };
};
