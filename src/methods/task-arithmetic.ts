import { taskVectorMethod } from './framework/task-vector-method.js';

/** Task arithmetic (Ilharco et al. 2023): base + λ · Σ wᵢ(xᵢ − base). Not normalised unless asked. A linear combination of the models. */
export const taskArithmetic = taskVectorMethod({
  name: 'task_arithmetic',
  title: 'Task arithmetic',
  elects: false,
  normalize: false,
  rescale: false,
});
