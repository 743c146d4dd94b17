import { superMario } from '../framework/declaration/papers.js';
import {
  byChance,
  type RandomParameters,
  randomSumOf,
  sparseChanges,
  summed,
} from '../framework/task-vectors.js';
import { tensorMethod } from '../framework/tensors/tensor-method.js';
import type { TensorMethod } from '../framework/tensors/tensor-parameters.js';

/** Parameters of `dare_linear` except models. */
export type DareLinearParameters = RandomParameters;

/**
 * DARE (Yu et al. 2023): base + λ·Σ wᵢδᵢ, where each change is kept with probability `density` and
 * rescaled. Random numbers depend only on `seed`, tensor name, model index and element index.
 */
export const dareLinear: TensorMethod<'required', DareLinearParameters, 'weight' | 'density'> = tensorMethod({
  name: 'dare_linear',
  title: 'Linear DARE',
  citations: [superMario],
  base: 'required',
  shared: randomSumOf(false),
  perModel: sparseChanges,
  expression: (input) => summed(input, byChance),
});
