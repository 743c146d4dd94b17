/**
 * The function of a tensor in the model. `attention` is what mixes tokens: attention, or a state-space, recurrent or
 * convolution layer in its place. `blockNorm` is a norm directly in a layer, whereas a norm inside attention (`q_norm`,
 * `k_norm`) is `attention`. `residual` is what a layer adds to the residual stream by besides these: scales, gates,
 * modulations of a diffusion transformer. `head` is all behind the last layer but norms: a pooler or a classifier too.
 * `tower` is a vision or audio model beside the language model, the projector that joins them, or a draft head.
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
