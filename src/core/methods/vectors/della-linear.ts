import { dellaMerging } from '../framework/declaration/papers.js';
import {
  byRank,
  type RankParameters,
  randomSumOf,
  rankedChanges,
  summed,
} from '../framework/task-vectors.js';
import { tensorMethod } from '../framework/tensors/tensor-method.js';
import type { TensorMethod } from '../framework/tensors/tensor-parameters.js';

/** Parameters of `della_linear` except models. */
export type DellaLinearParameters = RankParameters;

/** DELLA's random drops without an election: base + λ·Σ wᵢδᵢ (mergekit's `della_linear`). */
export const dellaLinear: TensorMethod<'required', DellaLinearParameters, 'weight' | 'density' | 'epsilon'> =
  tensorMethod({
    name: 'della_linear',
    title: 'Linear DELLA',
    citations: [dellaMerging],
    base: 'required',
    shared: randomSumOf(false),
    perModel: rankedChanges,
    expression: (input) => summed(input, byRank),
  });
