/** How an architecture in GGUF (`general.architecture`) differs from transformers. */
export interface GgufArchitecture {
  /** transformers' module names by GGUF's. */
  readonly layer: Readonly<Record<string, string>>;
  readonly outside: Readonly<Record<string, string>>;
  /** True if rows of queries and keys are interleaved within each head. */
  readonly turns: boolean;
  /** The amount that GGUF adds to norm weights. */
  readonly inNorms: number;
}

const outside = { token_embd: 'model.embed_tokens', output_norm: 'model.norm', output: 'lm_head' };

const blocks = {
  attn_norm: 'input_layernorm',
  attn_q: 'self_attn.q_proj',
  attn_k: 'self_attn.k_proj',
  attn_v: 'self_attn.v_proj',
  attn_output: 'self_attn.o_proj',
  ffn_gate: 'mlp.gate_proj',
  ffn_up: 'mlp.up_proj',
  ffn_down: 'mlp.down_proj',
};

const twoNorms = { ...blocks, ffn_norm: 'post_attention_layernorm' };

const headNorms = { attn_q_norm: 'self_attn.q_norm', attn_k_norm: 'self_attn.k_norm' };

const fourNorms = {
  ...blocks,
  ffn_norm: 'pre_feedforward_layernorm',
  post_attention_norm: 'post_attention_layernorm',
  post_ffw_norm: 'post_feedforward_layernorm',
};

const plain = { outside, turns: false, inNorms: 0 };

/** By `general.architecture`. Mistral's models are `llama` too. */
export const architectures: Readonly<Record<string, GgufArchitecture>> = {
  llama: { ...plain, layer: twoNorms, turns: true },
  qwen2: { ...plain, layer: twoNorms },
  qwen3: { ...plain, layer: { ...twoNorms, ...headNorms } },
  gemma: { ...plain, layer: twoNorms, inNorms: 1 },
  gemma2: { ...plain, layer: fourNorms, inNorms: 1 },
  gemma3: { ...plain, layer: { ...fourNorms, ...headNorms }, inNorms: 1 },
};

/** Returns a GGUF tensor's name in transformers, if known. */
export const transformersName = (name: string, { layer, outside }: GgufArchitecture): string | undefined => {
  const {
    number,
    module = '',
    part,
  } = /^(?:blk\.(?<number>0|[1-9]\d*)\.)?(?<module>\w+)\.(?<part>weight|bias)$/.exec(name)?.groups ?? {};
  const names = number === undefined ? outside : layer;
  const found = Object.hasOwn(names, module) ? names[module] : undefined;
  if (found === undefined) return undefined;
  return number === undefined ? `${found}.${part}` : `model.layers.${number}.${found}.${part}`;
};

export const blockOf = (name: string): number | undefined => {
  const number = /^blk\.(?<number>\d+)\./.exec(name)?.groups?.['number'];
  return number === undefined ? undefined : Number(number);
};

/** Factors for positions, which transformers computes from `config.json`. */
export const positionFactors = 'rope_freqs.weight';

export const isNorm = (name: string): boolean => name.endsWith('norm.weight');

/** Returns the metadata key for the number of heads of a query or key tensor. */
export const headsKey = (name: string): string | undefined => {
  const of = /^blk\.\d+\.attn_(?<of>[qk])\.(weight|bias)$/.exec(name)?.groups?.['of'];
  if (of === undefined) return undefined;
  return of === 'q' ? 'attention.head_count' : 'attention.head_count_kv';
};
