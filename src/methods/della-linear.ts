import { taskVectorMethod } from './framework/task-vector-method.js';

/** DELLA's drops without an election: base + λ · Σ wᵢδᵢ (mergekit's `della_linear`). */
export const dellaLinear = taskVectorMethod({
  name: 'della_linear',
  title: 'Linear DELLA',
  sparsifier: 'rank',
  elects: false,
  normalize: false,
  rescale: true,
});
