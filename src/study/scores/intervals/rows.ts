import type { EvaluationResult } from '../../evaluation/result.js';
import type { ScoredModel } from '../reading/scored-experiment.js';
import { isOnePair, type Sampling, samplingOf } from './sampled.js';

/** A side of a comparison: the mean score of one or several models on one task. */
export interface Row {
  readonly results: readonly EvaluationResult[];
  /** Populations from which the models are sampled; undefined if the models are not a sample. */
  readonly sampling?: readonly Sampling[] | undefined;
  readonly isOnePair?: boolean;
  /** Rows among which this row was chosen as the best on the same problems. Resamples repeat the choice. */
  readonly candidates?: readonly (readonly EvaluationResult[])[] | undefined;
}

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

/** Returns a row whose models are not treated as a sample. */
export const onlyThese = ({ sampling: _, ...row }: Row): Row => row;
