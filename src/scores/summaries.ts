import { itemAt } from '../lookup.js';
import { isHigherBetter, standardErrorOf } from './metrics.js';
import type { ScoredModel } from './scored-experiment.js';

/** A model's score in one task, as the harness states it. */
export interface ModelScore {
  readonly model: ScoredModel;
  readonly value: number;
  /** The harness's own standard error where it states one; sqrt(p (1 - p) / n) for other shares. */
  readonly stderr: number | undefined;
  /** Number of problems. */
  readonly n: number;
  readonly isHigherBetter: boolean;
}

/** Returns a model's score; undefined if it has none of this metric. */
export const scoreOf = (model: ScoredModel, task: string, metric: string): ModelScore | undefined => {
  const result = model.results.get(task);
  const value = result?.metrics[metric];
  if (result === undefined || value === undefined || value === null) return undefined;
  const stated = result.metrics[standardErrorOf(metric)];
  const isShare = value >= 0 && value <= 1 && isHigherBetter(result, metric);
  return {
    model,
    value,
    stderr: stated ?? (isShare && result.n > 0 ? Math.sqrt((value * (1 - value)) / result.n) : undefined),
    n: result.n,
    isHigherBetter: isHigherBetter(result, metric),
  };
};

/** Returns the scores of those models that have one. */
export const scoresOf = (models: readonly ScoredModel[], task: string, metric: string): ModelScore[] =>
  models.flatMap((model) => scoreOf(model, task, metric) ?? []);

/** Minimum, mean and maximum over models. */
export interface Summary {
  /** Number of models. */
  readonly n: number;
  readonly min: ModelScore;
  readonly avg: number;
  readonly max: ModelScore;
  /** Standard error of the mean over models (n - 1); of one model, its own. */
  readonly stderr: number | undefined;
}

/** Summarises the scores of a row's models; undefined without any. */
export const summarise = (scores: readonly ModelScore[]): Summary | undefined => {
  if (scores.length === 0) return undefined;
  const n = scores.length;
  const sorted = [...scores].sort((a, b) => a.value - b.value);
  const avg = meanOf(scores.map(({ value }) => value));
  const squares = scores.reduce((sum, { value }) => sum + (value - avg) ** 2, 0);
  return {
    n,
    min: itemAt(sorted, 0),
    avg,
    max: itemAt(sorted, n - 1),
    stderr: n === 1 ? itemAt(scores, 0).stderr : Math.sqrt(squares / (n - 1) / n),
  };
};

export const meanOf = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;
