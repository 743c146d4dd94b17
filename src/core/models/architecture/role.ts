/**
 * A tensor's function in its model.
 *
 * - `attention`: mixes tokens; includes state-space, recurrent and convolution layers, and norms inside
 *   (`q_norm`)
 * - `blockNorm`: a norm directly in a layer
 * - `residual`: other parts of a layer's contribution to the residual stream: scales, gates, modulations
 * - `head`: everything after the last layer except norms, including poolers and classifiers
 * - `tower`: a vision or audio model, its projector, or a draft head
 */
export type Role =
  | 'attention'
  | 'feedForward'
  | 'blockNorm'
  | 'residual'
  | 'embedding'
  | 'finalNorm'
  | 'head'
  | 'buffer'
  | 'tower'
  | 'other';
