import type { EvaluationResult } from '../../evaluation/result.js';
import type { ScoredModel } from '../scored-experiment.js';
import { isOnePair, type Sampling, samplingOf } from './sampled.js';

/** One side of a comparison: the models whose mean it is, in one task. */
export interface Row {
  readonly results: readonly EvaluationResult[];
  /** What the models are samples of; undefined if they stand for themselves alone. */
  readonly sampling?: readonly Sampling[] | undefined;
  /** True for one merge of two experts. */
  readonly isOnePair?: boolean;
  /**
   * Rows of which this one was chosen as the best by these very problems, itself among them: configurations, kinds of
   * models, the nine pairs of a maximum. Intervals choose again in each resample.
   */
  readonly candidates?: readonly (readonly EvaluationResult[])[] | undefined;
}

/** Returns the row of models that have results of a task. */
export const rowOf = (
  models: readonly ScoredModel[],
  task: string,
  candidates: readonly (readonly ScoredModel[])[] = [],
): Row => {
  const scored = models.filter(({ results }) => results.has(task));
  const resultsOf = (of: readonly ScoredModel[]) => of.flatMap(({ results }) => results.get(task) ?? []);
  return {
    results: resultsOf(scored),
    sampling: samplingOf(scored),
    isOnePair: isOnePair(scored),
    ...(candidates.length > 1 ? { candidates: candidates.map(resultsOf) } : {}),
  };
};

/** Returns a row whose models stand for themselves alone. */
export const onlyThese = ({ sampling: _, ...row }: Row): Row => row;
