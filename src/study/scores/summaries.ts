import { itemAt } from '../../core/base/lookup.js';
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
  // Equal scores go by name, so that the order of models does not matter.
  const ofSign = (sign: number) =>
    scores.toSorted((a, b) => sign * (a.value - b.value) || (a.model.name < b.model.name ? -1 : 1));
  const values = scores.map(({ value }) => value);
  return {
    n,
    min: itemAt(ofSign(1), 0),
    avg: meanOf(values),
    max: itemAt(ofSign(-1), 0),
    estimate: estimateOfMean(scores),
    plainStderr: n === 1 ? undefined : Math.sqrt(spreadOf(values).variance),
  };
};
