import { flag } from './framework/settings.js';
import {
  byRank,
  changesOf,
  density,
  elected,
  epsilon,
  int8Mask,
  lambda,
  type RankParameters,
  rescale,
  seed,
  seedOf,
  weight,
} from './framework/task-vectors.js';
import { tensorMethod } from './framework/tensor-method.js';
import type { TensorMethod } from './framework/tensor-parameters.js';

/** Parameters of `della` besides its models. */
export type DellaParameters = RankParameters;

/**
 * DELLA (Deep et al. 2024): a change stays with a probability that rises with the rank of its magnitude in its row, from density − epsilon to
 * density + epsilon; rescaled; then as `ties`.
 */
export const della: TensorMethod<'required', DellaParameters, 'weight' | 'density' | 'epsilon'> =
  tensorMethod({
    name: 'della',
    title: 'DELLA',
    base: 'required',
    shared: { normalize: flag(true), rescale: rescale(true), lambda, int8Mask, seed },
    perModel: { weight, density, epsilon },
    expression: ({ base, models, perModel, shared, tensor }) =>
      elected(
        base,
        changesOf(models, perModel, (own, model) =>
          byRank(own, shared.rescale, seedOf(shared.seed, tensor, model)),
        ),
        shared,
      ),
  });
