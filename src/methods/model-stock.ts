import { flag } from './framework/settings.js';
import { tensorMethod } from './framework/tensor-method.js';

/**
 * Model Stock (Jang et al. 2024): t·average + (1−t)·base, where t = N·c / (1 + (N−1)·c) and c is the mean cosine of the pairs of task
 * vectors; of whole tensors, or with `filter_wise` of each row along the last dimension.
 */
export const modelStock = tensorMethod({
  name: 'model_stock',
  title: 'Model Stock',
  base: 'required',
  models: { least: 2 },
  shared: { filterWise: flag(false) },
  expression: ({ base = { model: 0 }, models, shared }) => ({
    kind: 'gram',
    rule: 'model_stock',
    origin: base,
    sources: models,
    of: shared['filterWise'] === true ? 'output' : 'tensor',
    parameters: {},
  }),
});
