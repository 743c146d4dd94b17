import { tensorMethod } from './framework/tensor-method.js';

/**
 * Arcee Fusion (mergekit's `arcee_fusion`): the model's elements of high importance, the base's elsewhere. Importance is |x − base| times
 * the Kullback-Leibler divergence of the row's softmax from the base's; high is median + 1.5 · interquartile range and above, over the
 * whole tensor. Divergences are float64 and quantiles exact: mergekit's float32 sums are mostly rounding where experts are near their base, and it
 * samples the quantiles of tensors above a million elements.
 */
export const arceeFusion = tensorMethod({
  name: 'arcee_fusion',
  title: 'Arcee Fusion',
  base: 'required',
  models: { least: 1, most: 1 },
  expression: ({ base = { model: 0 }, models: [source = { model: 1 }] }) => ({
    kind: 'fusion',
    base,
    source,
  }),
});
