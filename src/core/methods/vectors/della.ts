import { dellaMerging } from '../framework/declaration/papers.js';
import {
  byRank,
  elected,
  type RankParameters,
  randomSumOf,
  rankedChanges,
} from '../framework/task-vectors.js';
import { tensorMethod } from '../framework/tensors/tensor-method.js';
import type { TensorMethod } from '../framework/tensors/tensor-parameters.js';

/** Parameters of `della` except models. */
export type DellaParameters = RankParameters;

/**
 * DELLA (Deep et al. 2024): keeps each change with a probability that rises with the rank of its magnitude in
 * the row, from density − epsilon to density + epsilon. Rescales changes, and continues like `ties`.
 */
export const della: TensorMethod<'required', DellaParameters, 'weight' | 'density' | 'epsilon'> =
  tensorMethod({
    name: 'della',
    title: 'DELLA',
    citations: [dellaMerging],
    base: 'required',
    shared: randomSumOf(true),
    perModel: rankedChanges,
    expression: (input) => elected(input, byRank),
  });
