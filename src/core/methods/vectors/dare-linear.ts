import { superMario } from '../framework/papers.js';
import {
  byChance,
  type RandomParameters,
  randomSumOf,
  sparseChanges,
  summed,
} from '../framework/task-vectors.js';
import { tensorMethod } from '../framework/tensors/tensor-method.js';
import type { TensorMethod } from '../framework/tensors/tensor-parameters.js';

/** Parameters of `dare_linear` besides its models. */
export type DareLinearParameters = RandomParameters;

/**
 * DARE (Yu et al. 2023): each change stays with probability `density` and is rescaled; base + λ · Σ wᵢδᵢ.
 * Which stay is drawn from a counter-based generator keyed by `seed`, tensor name, the model's place and
 * element index: the same on every machine.
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
