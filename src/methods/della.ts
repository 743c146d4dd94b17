import { taskVectorMethod } from './framework/task-vector-method.js';

/**
 * DELLA (Deep et al. 2024): a change stays with a probability that rises with the rank of its magnitude in its row, from density − epsilon to
 * density + epsilon; rescaled; then as `ties`.
 */
export const della = taskVectorMethod({
  name: 'della',
  title: 'DELLA',
  sparsifier: 'rank',
  elects: true,
  normalize: true,
  rescale: true,
});
