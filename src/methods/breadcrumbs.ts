import { taskVectorMethod } from './framework/task-vector-method.js';

/**
 * Model Breadcrumbs (Davari and Belilovsky 2023): without the `gamma` share of largest changes, the `density` share of largest among the rest;
 * base + λ · Σ wᵢδᵢ. The largest stay where there are too few others.
 */
export const breadcrumbs = taskVectorMethod({
  name: 'breadcrumbs',
  title: 'Model Breadcrumbs',
  sparsifier: 'outliers',
  elects: false,
  normalize: false,
  rescale: false,
});
