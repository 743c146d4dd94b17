import { taskVectorMethod } from './framework/task-vector-method.js';

/**
 * DARE (Yu et al. 2023): each change stays with probability `density` and is rescaled; base + λ · Σ wᵢδᵢ. Which stay is drawn from a
 * counter-based generator keyed by `seed`, tensor name, the model's place and element index: the same on every machine.
 */
export const dareLinear = taskVectorMethod({
  name: 'dare_linear',
  title: 'Linear DARE',
  sparsifier: 'random',
  elects: false,
  normalize: false,
  rescale: true,
});
