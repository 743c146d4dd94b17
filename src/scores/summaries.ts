import { itemAt } from '../base/lookup.js';
import { spreadOf } from './intervals/crossed.js';
import { type Estimate, estimateOfMean } from './intervals/estimates.js';
import { meanOf } from './mean.js';
import type { ModelScore } from './model-score.js';

/** Minimum, mean and maximum over models. */
export interface Summary {
  /** Number of models. */
  readonly n: number;
  readonly min: ModelScore;
  readonly avg: number;
  readonly max: ModelScore;
  /** What is known of the mean; undefined without results by problem and without standard errors. */
  readonly estimate: Estimate | undefined;
  /** Standard error of the mean if the models' scores were independent, s / √n; undefined of one model. */
  readonly plainStderr: number | undefined;
}

/** Summarises the scores of a row's models; undefined without any. */
export const summarise = (scores: readonly ModelScore[]): Summary | undefined => {
  if (scores.length === 0) return undefined;
  const n = scores.length;
  const sorted = [...scores].sort((a, b) => a.value - b.value);
  const values = scores.map(({ value }) => value);
  return {
    n,
    min: itemAt(sorted, 0),
    avg: meanOf(values),
    max: itemAt(sorted, n - 1),
    estimate: estimateOfMean(scores),
    plainStderr: n === 1 ? undefined : Math.sqrt(spreadOf(values).variance),
  };
};
