import { taskVectors } from '../framework/declaration/papers.js';
import { summed, sumOf, type TaskVectorParameters, wholeChanges } from '../framework/task-vectors.js';
import { tensorMethod } from '../framework/tensors/tensor-method.js';
import type { TensorMethod } from '../framework/tensors/tensor-parameters.js';

/** Parameters of `task_arithmetic` except models. */
export type TaskArithmeticParameters = TaskVectorParameters;

/** Task arithmetic (Ilharco et al. 2023): base + λ·Σ wᵢ(xᵢ − base), by default not normalised. */
export const taskArithmetic: TensorMethod<'required', TaskArithmeticParameters, 'weight'> = tensorMethod({
  name: 'task_arithmetic',
  title: 'Task arithmetic',
  citations: [taskVectors],
  base: 'required',
  shared: sumOf(false),
  perModel: wholeChanges,
  expression: (input) => summed(input),
});
