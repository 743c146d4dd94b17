import { flag } from './framework/settings.js';
import {
  changesOf,
  int8Mask,
  lambda,
  summed,
  type TaskVectorParameters,
  weight,
} from './framework/task-vectors.js';
import { tensorMethod } from './framework/tensor-method.js';
import type { TensorMethod } from './framework/tensor-parameters.js';

/** Parameters of `task_arithmetic` besides its models. */
export type TaskArithmeticParameters = TaskVectorParameters;

/** Task arithmetic (Ilharco et al. 2023): base + λ · Σ wᵢ(xᵢ − base). Not normalised unless asked. A linear combination of the models. */
export const taskArithmetic: TensorMethod<'required', TaskArithmeticParameters, 'weight'> = tensorMethod({
  name: 'task_arithmetic',
  title: 'Task arithmetic',
  base: 'required',
  shared: { normalize: flag(false), lambda, int8Mask },
  perModel: { weight },
  expression: ({ base, models, perModel, shared }) => summed(base, changesOf(models, perModel), shared),
});
