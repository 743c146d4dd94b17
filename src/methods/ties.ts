import { taskVectorMethod } from './framework/task-vector-method.js';

/**
 * TIES (Yadav et al. 2023): of each task vector the `density` share of largest magnitude, and of those what has the sign of their weighted sum;
 * summed, divided by the weights that count, and added to the base.
 *
 * `dialect: mergekit` (default): ⌊density·n⌋ of each tensor, 1 at least, of equal magnitudes those with the lowest index; weighted election.
 * `paper`, the authors' code: the threshold is the whole model's and what equals it stays; unweighted election; mean over the models that
 * count; `weight` is not used. Where changes cancel, the sign is the whole model's majority: that of the sum of all elements' signs. A majority
 * of 0 is no sign, and there the authors keep the negative changes.
 * `peft`: as mergekit, but ⌊density·n⌋ may be 0 and the election is unweighted; divided by how many models count.
 */
export const ties = taskVectorMethod({
  name: 'ties',
  title: 'TIES',
  sparsifier: 'magnitude',
  elects: true,
  normalize: true,
  rescale: false,
  dialects: ['paper', 'peft'],
});
