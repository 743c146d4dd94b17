import { flag } from './framework/settings.js';
import {
  changesOf,
  density,
  elected,
  int8Mask,
  lambda,
  pruned,
  type RandomParameters,
  rescale,
  seed,
  seedOf,
  weight,
} from './framework/task-vectors.js';
import { tensorMethod } from './framework/tensor-method.js';
import type { TensorMethod } from './framework/tensor-parameters.js';

/** Parameters of `dare_ties` besides its models. */
export type DareTiesParameters = RandomParameters;

/** DARE with TIES' election (Yu et al. 2023): each change stays with probability `density`, rescaled; then as `ties`, not normalised. */
export const dareTies: TensorMethod<'required', DareTiesParameters, 'weight' | 'density'> = tensorMethod({
  name: 'dare_ties',
  title: 'DARE TIES',
  base: 'required',
  shared: { normalize: flag(false), rescale: rescale(true), lambda, int8Mask, seed },
  perModel: { weight, density },
  expression: ({ base, models, perModel, shared, tensor }) =>
    elected(
      base,
      changesOf(models, perModel, (own, model) =>
        pruned(
          { by: 'random', density: own.density, seed: seedOf(shared.seed, tensor, model) },
          shared.rescale,
        ),
      ),
      shared,
    ),
});
