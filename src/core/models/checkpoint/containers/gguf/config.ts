import { itemAt } from '../../../../base/errors/lookup.js';
import type { GgufHeader, GgufTensor } from './header.js';
import { positionFactors } from './names.js';
import type { MetadataValue } from './scanner.js';

interface Made {
  readonly model_type: string;
  readonly architecture: string;
  /** Modules whose biases a key of `config.json` turns on. */
  readonly biases: Readonly<Record<string, readonly string[]>>;
  /** Modules that have biases without a key. */
  readonly biased?: readonly string[];
}

const attention = ['attn_q', 'attn_k', 'attn_v', 'attn_output'];
const feedForward = ['ffn_gate', 'ffn_up', 'ffn_down'];

/** Architectures whose GGUF metadata determine `config.json`, by `general.architecture`. */
const made: Readonly<Record<string, Made>> = {
  llama: {
    model_type: 'llama',
    architecture: 'LlamaForCausalLM',
    biases: { attention_bias: attention, mlp_bias: feedForward },
  },
  qwen2: {
    model_type: 'qwen2',
    architecture: 'Qwen2ForCausalLM',
    biases: {},
    biased: ['attn_q', 'attn_k', 'attn_v'],
  },
  qwen3: { model_type: 'qwen3', architecture: 'Qwen3ForCausalLM', biases: { attention_bias: attention } },
};

/** Required metadata keys (without the architecture's name) and their keys in `config.json`. */
const numbers = {
  block_count: 'num_hidden_layers',
  context_length: 'max_position_embeddings',
  embedding_length: 'hidden_size',
  feed_forward_length: 'intermediate_size',
  'attention.head_count': 'num_attention_heads',
  'attention.layer_norm_rms_epsilon': 'rms_norm_eps',
} as const;

const tokens = {
  bos_token_id: 'tokenizer.ggml.bos_token_id',
  eos_token_id: 'tokenizer.ggml.eos_token_id',
  pad_token_id: 'tokenizer.ggml.padding_token_id',
} as const;

const torchNames = { F32: 'float32', F16: 'float16' } as const;

/**
 * Returns a `config.json` built from the metadata. Undefined if these do not determine it: for other
 * architectures, scaled positions, or rotation of only part of each head.
 */
export const configOf = ({ metadata, tensors }: GgufHeader): string | undefined => {
  const name = String(metadata.get('general.architecture'));
  const known = Object.hasOwn(made, name) ? made[name] : undefined;
  const byName = new Map(tensors.map((tensor) => [tensor.name, tensor]));
  const embeddings = byName.get('token_embd.weight');
  const isScaled =
    byName.has(positionFactors) ||
    [...metadata.keys()].some((key) => key.startsWith(`${name}.rope.scaling.`));
  if (known === undefined || embeddings === undefined || isScaled) return undefined;
  const number = (key: string): number | undefined => numberIn(metadata.get(`${name}.${key}`));
  const entries = Object.entries(numbers).map(([key, to]) => [to, number(key)] as const);
  if (entries.some(([, value]) => value === undefined)) return undefined;
  const heads = number('attention.head_count') ?? 1;
  const [keys, rotary] = [number('attention.key_length'), number('rope.dimension_count')];
  const headSize = keys ?? (number('embedding_length') ?? 0) / heads;
  // Models with partial RoPE, or value heads of another size, have another class.
  const isWhole = [rotary, number('attention.value_length')].every((size) => (size ?? headSize) === headSize);
  if (!isWhole || (number('attention.sliding_window') ?? 0) > 0) return undefined;
  const biased = new Set(
    tensors.flatMap(({ name: tensor }) => /^(?:blk\.\d+\.)?(\w+)\.bias$/.exec(tensor)?.[1] ?? []),
  );
  const { biases } = known;
  const loaded = [...Object.values(biases).flat(), ...(known.biased ?? [])];
  if ([...biased].some((module) => !loaded.includes(module))) return undefined;
  const config = {
    architectures: [known.architecture],
    model_type: known.model_type,
    ...Object.fromEntries(entries),
    num_key_value_heads: number('attention.head_count_kv') ?? heads,
    ...(keys === undefined && rotary === undefined ? {} : { head_dim: headSize }),
    rope_theta: number('rope.freq_base') ?? 10_000,
    vocab_size: itemAt(embeddings.shape, 0),
    tie_word_embeddings: !byName.has('output.weight'),
    hidden_act: 'silu',
    ...Object.fromEntries(
      Object.entries(biases).flatMap(([key, modules]) => {
        const isBiased = modules.some((module) => biased.has(module));
        return isBiased || key === 'attention_bias' ? [[key, isBiased]] : [];
      }),
    ),
    ...Object.fromEntries(
      Object.entries(tokens).flatMap(([key, from]) => {
        const id = numberIn(metadata.get(from));
        return id === undefined ? [] : [[key, id]];
      }),
    ),
    torch_dtype: dtypeOf(tensors),
  };
  return `${JSON.stringify(config, null, 2)}\n`;
};

/** Undoes rounding to float32: the shortest decimal that rounds to the value. */
const numberIn = (value: MetadataValue | undefined): number | undefined => {
  if (typeof value !== 'number' || !Number.isFinite(value)) return undefined;
  for (let digits = 1; digits <= 9; digits += 1) {
    const shortest = Number(value.toPrecision(digits));
    if (Math.fround(shortest) === value) return shortest;
  }
  return value;
};

const dtypeOf = (tensors: readonly GgufTensor[]): string => {
  const types = new Set(tensors.filter(({ shape }) => shape.length > 1).map(({ type }) => type));
  const [only] = types;
  return types.size === 1 && (only === 'F32' || only === 'F16') ? torchNames[only] : 'bfloat16';
};
