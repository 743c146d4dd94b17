import { ownValue } from '../../../core/base/errors/lookup.js';
import type { EvaluationResult } from '../../evaluation/result.js';
import { isHigherBetter, standardErrorOf } from './metrics.js';
import type { ScoredModel } from './scored-experiment.js';

/** Model's score on one task, as the harness states it. */
export interface ModelScore {
  readonly model: ScoredModel;
  readonly result: EvaluationResult;
  /** `metric,filter` */
  readonly metric: string;
  readonly value: number;
  /** Harness's value; if it states none, sqrt(p(1 - p)/n) for shares. */
  readonly stderr: number | undefined;
  readonly n: number;
  readonly isHigherBetter: boolean;
}

export const scoreOf = (model: ScoredModel, task: string, metric: string): ModelScore | undefined => {
  const result = model.results.get(task);
  const value = result && ownValue(result.metrics, metric);
  if (result === undefined || value === undefined || value === null) return undefined;
  const stated = result.metrics[standardErrorOf(metric)];
  const isShare = value >= 0 && value <= 1 && isHigherBetter(result, metric);
  return {
    model,
    result,
    metric,
    value,
    stderr: stated ?? (isShare && result.n > 0 ? Math.sqrt((value * (1 - value)) / result.n) : undefined),
    n: result.n,
    isHigherBetter: isHigherBetter(result, metric),
  };
};

export const scoresOf = (models: readonly ScoredModel[], task: string, metric: string): ModelScore[] =>
  models.flatMap((model) => scoreOf(model, task, metric) ?? []);
