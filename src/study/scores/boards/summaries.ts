import { itemAt } from '../../../core/base/errors/lookup.js';
import { spreadOf } from '../intervals/crossed.js';
import { type Estimate, estimateOfMean } from '../intervals/estimates.js';
import type { ModelScore } from '../reading/model-score.js';
import { meanOf } from '../statistics/mean.js';

export interface Summary {
  readonly n: number;
  readonly min: ModelScore;
  readonly avg: number;
  readonly max: ModelScore;
  readonly estimate: Estimate | undefined;
  /** Standard error of the mean if models' scores were independent, s/√n; undefined for one model. */
  readonly plainStderr: number | undefined;
}

export const summarise = (scores: readonly ModelScore[]): Summary | undefined => {
  if (scores.length === 0) return undefined;
  const n = scores.length;
  // Breaks ties by name, so that the order of models does not matter.
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
