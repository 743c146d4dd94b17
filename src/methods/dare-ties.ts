import { taskVectorMethod } from './framework/task-vector-method.js';

/** DARE with TIES' election (Yu et al. 2023): each change stays with probability `density`, rescaled; then as `ties`, not normalised. */
export const dareTies = taskVectorMethod({
  name: 'dare_ties',
  title: 'DARE TIES',
  sparsifier: 'random',
  elects: true,
  normalize: false,
  rescale: true,
});
