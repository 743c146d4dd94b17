import { flag } from './framework/settings.js';
import {
  byRank,
  changesOf,
  density,
  epsilon,
  int8Mask,
  lambda,
  type RankParameters,
  rescale,
  seed,
  seedOf,
  summed,
  weight,
} from './framework/task-vectors.js';
import { tensorMethod } from './framework/tensor-method.js';
import type { TensorMethod } from './framework/tensor-parameters.js';

/** Parameters of `della_linear` besides its models. */
export type DellaLinearParameters = RankParameters;

/** DELLA's drops without an election: base + λ · Σ wᵢδᵢ (mergekit's `della_linear`). */
export const dellaLinear: TensorMethod<'required', DellaLinearParameters, 'weight' | 'density' | 'epsilon'> =
  tensorMethod({
    name: 'della_linear',
    title: 'Linear DELLA',
    base: 'required',
    shared: { normalize: flag(false), rescale: rescale(true), lambda, int8Mask, seed },
    perModel: { weight, density, epsilon },
    expression: ({ base, models, perModel, shared, tensor }) =>
      summed(
        base,
        changesOf(models, perModel, (own, model) =>
          byRank(own, shared.rescale, seedOf(shared.seed, tensor, model)),
        ),
        shared,
      ),
  });
