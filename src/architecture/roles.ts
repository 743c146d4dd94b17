/**
 * What a tensor does in the model. `blockNorm` is a norm that stands directly in a layer; a norm inside attention (`q_norm`,
 * `k_norm`) is `attention`, since it belongs to it. `tower` is a vision or audio model beside the language model, and what joins
 * them.
 */
export type Role =
  | 'attention'
  | 'feedForward'
  | 'blockNorm'
  | 'embedding'
  | 'finalNorm'
  | 'head'
  | 'buffer'
  | 'tower'
  | 'other';

/** The role of what stands behind `layers.N.`, by the first part of its name. */
const insideLayer: readonly (readonly [RegExp, Role])[] = [
  [/^(\w*norm\w*|ln_\w+)\.(weight|bias)$/, 'blockNorm'],
  [/^(self_attn|self_attention|attention|attn|cross_attn|linear_attn)\./, 'attention'],
  [/^(mlp|feed_forward|block_sparse_moe|ffn|fc1|fc2)\./, 'feedForward'],
];

/** The role of what stands outside the layers, by the end of its name. */
const outsideLayers: readonly (readonly [RegExp, Role])[] = [
  [
    /(^|\.)(embed_tokens|embed_positions|tok_embeddings|embed_in|word_embeddings|word_embeddings_layernorm|wte|wpe)\.(weight|bias)$/,
    'embedding',
  ],
  [/(^|\.)(norm|norm_f|final_layer_?norm|ln_f)\.(weight|bias)$/, 'finalNorm'],
  [/(^|\.)(lm_head|embed_out|output)\.(weight|bias)$/, 'head'],
];

/** Tables that older exports carry along; constant, not learnt. */
const buffer =
  /(^|\.)(rotary_emb\.inv_freq|rope\.freqs|(attention|attn)\.(bias|masked_bias|rotary_emb\.inv_freq))$/;

/** Names of what is not the language model: another tower, its projector, a draft head that predicts further tokens. */
export const otherTower =
  /(^|\.)((vision|visual|image|vit|audio|speech|sound|mtp|multi_modal|mm_|projector|connector|resampler|perceiver)\w*|vpm|apm)(\.|$)/;

const first = (rules: readonly (readonly [RegExp, Role])[], name: string): Role =>
  buffer.test(name) ? 'buffer' : (rules.find(([pattern]) => pattern.test(name))?.[1] ?? 'other');

export const roleInside = (module: string): Role => first(insideLayer, module);
export const roleOutside = (name: string): Role =>
  otherTower.test(name) ? 'tower' : first(outsideLayers, name);
