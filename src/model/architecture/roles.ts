/**
 * The function of a tensor in the model. `blockNorm` is a norm directly in a layer, whereas a norm inside
 * attention (`q_norm`, `k_norm`) is `attention`. `tower` is a vision or audio model beside the language
 * model, the projector that joins them, or a draft head.
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

/** Patterns for the part of a name after `layers.N.`; the first that matches gives the role. */
const insideLayer: readonly (readonly [RegExp, Role])[] = [
  [/^(\w*norm\w*|ln_\w+)\.(weight|bias)$/, 'blockNorm'],
  [/^(self_attn|self_attention|attention|attn|cross_attn|linear_attn)\./, 'attention'],
  [/^(mlp|feed_forward|block_sparse_moe|ffn|fc1|fc2)\./, 'feedForward'],
];

/** Patterns for names outside the layers; the first that matches gives the role. */
const outsideLayers: readonly (readonly [RegExp, Role])[] = [
  [
    /(^|\.)(embed_tokens|embed_positions|tok_embeddings|embed_in|word_embeddings|word_embeddings_layernorm|wte|wpe)\.(weight|bias)$/,
    'embedding',
  ],
  [/(^|\.)(norm|norm_f|final_layer_?norm|ln_f)\.(weight|bias)$/, 'finalNorm'],
  [/(^|\.)(lm_head|embed_out|output)\.(weight|bias)$/, 'head'],
];

/** Matches constant tables that older exports store, which are computed and not learnt. */
const buffer =
  /(^|\.)(rotary_emb\.inv_freq|rope\.freqs|(attention|attn)\.(bias|masked_bias|rotary_emb\.inv_freq))$/;

/**
 * Matches names outside the language model: another tower, its projector, or a draft head for multi-token
 * prediction.
 */
export const otherTower =
  /(^|\.)((vision|visual|image|vit|audio|speech|sound|mtp|multi_modal|mm_|projector|connector|resampler|perceiver)\w*|vpm|apm)(\.|$)/;

const first = (rules: readonly (readonly [RegExp, Role])[], name: string): Role =>
  buffer.test(name) ? 'buffer' : (rules.find(([pattern]) => pattern.test(name))?.[1] ?? 'other');

export const roleInside = (module: string): Role => first(insideLayer, module);
export const roleOutside = (name: string): Role =>
  otherTower.test(name) ? 'tower' : first(outsideLayers, name);
