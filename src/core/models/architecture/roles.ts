import { type Family, families, type Rules } from './families.js';
import type { Role } from './role.js';

const usualInside: Rules = [
  [/^(?:(?=\w*?norm)|ln_)\w+\.(weight|bias)$/, 'blockNorm'],
  [/^(self_attn|self_attention|attention|attn|cross_attn|linear_attn)\./, 'attention'],
  [/^(mlp|feed_forward|block_sparse_moe|ffn|fc1|fc2)\./, 'feedForward'],
];

const usualOutside: Rules = [
  // A module that sentence-transformers adds after the model.
  [/^\d+_[A-Za-z]\w*\//, 'head'],
  [
    /(^|\.)(embed_tokens|embed_positions|tok_embeddings|embed_in|word_embeddings|word_embeddings_layernorm|wte|wpe)\.(weight|bias)$/,
    'embedding',
  ],
  [/(^|\.)(norm|norm_f|final_layer_?norm|ln_f)\.(weight|bias)$/, 'finalNorm'],
  [/(^|\.)(lm_head|embed_out|output)\.(weight|bias)$/, 'head'],
  [/^(score|qa_outputs)\.(weight|bias)$/, 'head'],
];

/** Constant tables. Models compute them; older exports also store them. */
const buffer =
  /(^|\.)(rotary_emb\.inv_freq|rope\.freqs|(attention|attn)\.(bias|masked_bias|rotary_emb\.inv_freq)|position_ids)$/;

/** Names of another tower, its projector, or a draft head. */
export const otherTower =
  /(^|\.)((vision|visual|image|vit|audio|speech|sound|mtp|multi_modal|mm_|projector|connector|resampler|perceiver)\w*|vpm|apm)(\.|$)/;

/** A token head's matrix, which may be tied to the embeddings. */
const tokenHead = /(^|\.)(lm_head|embed_out|output|proj_out|head|decoder|vocab_projector)\.weight$/;

/**
 * Returns a tensor's role by its name. Tries the family's names, then usual names and, for unknown families, the names
 * of all families.
 */
const roleBy = (
  rules: 'inside' | 'outside',
  usual: Rules,
  family: Family | undefined,
  name: string,
): Role => {
  if (buffer.test(name)) return 'buffer';
  const lists = [family?.[rules] ?? [], usual, ...(family === undefined ? own[rules] : [])];
  for (const list of lists) {
    const found = list.find(([pattern]) => pattern.test(name));
    if (found !== undefined) return found[1];
  }
  return 'other';
};

const listed = (rules: 'inside' | 'outside'): Rules[] => [
  ...new Set(families.flatMap((family) => (family[rules] === undefined ? [] : [family[rules]]))),
];
const own = { inside: listed('inside'), outside: listed('outside') };

export const roleInside = (family: Family | undefined, module: string): Role =>
  roleBy('inside', usualInside, family, module);

export const roleOutside = (family: Family | undefined, name: string): Role =>
  otherTower.test(name) ? 'tower' : roleBy('outside', usualOutside, family, name);

export const isTokenHead = (name: string, role: Role | undefined): boolean =>
  role === 'head' && tokenHead.test(name);
