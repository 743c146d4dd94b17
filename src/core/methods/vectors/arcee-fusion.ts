import { mergekit } from '../framework/declaration/papers.js';
import { tensorMethod } from '../framework/tensors/tensor-method.js';
import type { TensorMethod } from '../framework/tensors/tensor-parameters.js';

/** `arcee_fusion` has no parameters besides its models. */
export type ArceeFusionParameters = Readonly<Record<never, never>>;

/**
 * Arcee Fusion (mergekit's `arcee_fusion`): takes elements of high importance from the model, all other elements from
 * the base. An element's importance is |x − base| times the Kullback-Leibler divergence between the row's softmax and
 * the base's. It is high from the tensor's median + 1.5·interquartile range.
 *
 * Unlike mergekit, sums divergences in float64, and does not sample quantiles of large tensors.
 */
export const arceeFusion: TensorMethod<'required', ArceeFusionParameters> = tensorMethod({
  name: 'arcee_fusion',
  title: 'Arcee Fusion',
  citations: [mergekit],
  base: 'required',
  startsFromBase: true,
  models: { least: 1, most: 1 },
  expression: ({ base, models: [source] }) => ({ kind: 'fusion', base, source }),
});
