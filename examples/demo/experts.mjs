// @ts-check
// A base of small random weights that is wired to answer, and experts of it that differ where a published table says they do.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { encodeHeader } from 'layerloom';
import { encode } from './check.mjs';
import { end, ofBase, shape, words } from './words.mjs';

/** The table's columns, in its order, as Hugging Face names the matrices: [output features, input features]. */
const matrices = {
  'self_attn.q_proj': [shape.heads * shape.headDim, shape.hidden],
  'self_attn.k_proj': [shape.headDim, shape.hidden],
  'self_attn.v_proj': [shape.headDim, shape.hidden],
  'self_attn.o_proj': [shape.hidden, shape.heads * shape.headDim],
  'mlp.gate_proj': [shape.inner, shape.hidden],
  'mlp.up_proj': [shape.inner, shape.hidden],
  'mlp.down_proj': [shape.hidden, shape.inner],
};

/** @typedef {{ name: string, dtype: 'BF16', shape: number[], bytes: number, data: Uint16Array }} Tensor */

/** Deterministic 32-bit numbers: xorshift. @param {number} seed */
const generator = (seed) => {
  let state = seed;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state >>> 0;
  };
};

/** @param {string} name @param {number[]} extents @param {(index: number) => number} element @returns {Tensor} */
const tensor = (name, extents, element) => {
  const data = Uint16Array.from({ length: extents.reduce((a, b) => a * b) }, (_, index) => element(index));
  return { name, dtype: 'BF16', shape: extents, bytes: data.byteLength, data };
};

/** A bfloat16 of either sign between 2⁻²² and 2⁻²⁰, as its bits: too small to change an answer. @param {number} random */
const weight = (random) => ((random & 1) << 15) | ((105 + (random % 2)) << 7) | ((random >>> 8) & 0x7f);

/** Sets weights by hand. @param {Tensor[]} tensors @param {import('./words.mjs').Wire[]} wires */
const wire = (tensors, wires) => {
  const byName = new Map(tensors.map((one) => [one.name, one]));
  for (const { tensor: name, row, column, value } of wires) {
    const { data, shape: extents } = byName.get(name) ?? {};
    if (data !== undefined) data[row * (extents?.[1] ?? 0) + column] = encode(value);
  }
  return tensors;
};

/** The base's tensors. @returns {Tensor[]} */
export const makeBase = () => {
  const random = generator(2410);
  const one = 0x3f80;
  const { layers, hidden, vocabulary } = shape;
  const any = () => weight(random());
  const blocks = Array.from({ length: layers }, (_, layer) => [
    ...Object.entries(matrices).map(([name, extents]) =>
      tensor(`model.layers.${layer}.${name}.weight`, extents, any),
    ),
    ...['input_layernorm', 'post_attention_layernorm'].map((name) =>
      tensor(`model.layers.${layer}.${name}.weight`, [hidden], () => one),
    ),
  ]);
  const tensors = [
    tensor('model.embed_tokens.weight', [vocabulary, hidden], any),
    ...blocks.flat(),
    tensor('model.norm.weight', [hidden], () => one),
    tensor('lm_head.weight', [vocabulary, hidden], any),
  ];
  return wire(tensors, ofBase);
};

/**
 * An expert: in each matrix the table's fraction of input features has moved, every one of its weights by one unit in the last
 * place; then it learns what the wires add.
 *
 * @param {Tensor[]} base @param {string} figure a table of the paper @param {number} seed @param {import("./words.mjs").Wire[]} [wires]
 * @returns {Tensor[]}
 */
export const fineTune = (base, figure, seed, wires = []) => {
  const random = generator(seed);
  const table = readFileSync(figure, 'utf8')
    .trim()
    .split('\n')
    .slice(1)
    .map((line) => line.split(',').slice(1).map(Number));
  const columns = Object.keys(matrices);
  const expert = base.map((original) => {
    const [, layer, matrix = ''] = /^model\.layers\.(\d+)\.(.*)\.weight$/.exec(original.name) ?? [];
    const fraction = layer === undefined ? 0.02 : table[Number(layer)]?.[columns.indexOf(matrix)];
    if (fraction === undefined) return { ...original, data: original.data.slice() };
    const features = original.shape[1] ?? 1;
    const order = Array.from({ length: features }, (_, feature) => ({ feature, key: random() })).sort(
      (a, b) => a.key - b.key,
    );
    const moved = new Set(order.slice(0, Math.round(fraction * features)).map(({ feature }) => feature));
    return {
      ...original,
      data: original.data.map((bits, index) => (moved.has(index % features) ? bits ^ 1 : bits)),
    };
  });
  return wire(expert, wires);
};

const config = {
  architectures: ['LlamaForCausalLM'],
  model_type: 'llama',
  hidden_size: shape.hidden,
  intermediate_size: shape.inner,
  num_hidden_layers: shape.layers,
  num_attention_heads: shape.heads,
  num_key_value_heads: 1,
  head_dim: shape.headDim,
  vocab_size: shape.vocabulary,
  max_position_embeddings: 2048,
  rms_norm_eps: 1e-5,
  rope_theta: 500000,
  tie_word_embeddings: false,
  torch_dtype: 'bfloat16',
};

/** GPT-2's signs for the 256 bytes: printable ones for themselves, the others from U+0100. */
const byteSigns = () => {
  const isPrintable = (/** @type {number} */ byte) =>
    (byte > 32 && byte < 127) || (byte > 160 && byte !== 173 && byte < 256);
  let other = 256;
  return Array.from({ length: 256 }, (_, byte) => String.fromCodePoint(isPrintable(byte) ? byte : other++));
};

/** A tokenizer with a token for each byte, so that the models can be scored, and for each known word. */
const tokenizer = {
  version: '1.0',
  added_tokens: ['</s>', ...words].map((content, index) => ({
    id: end + index,
    content,
    special: index === 0,
    single_word: index > 0,
    lstrip: index > 0,
    rstrip: false,
    normalized: false,
  })),
  pre_tokenizer: { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: true },
  decoder: { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: true },
  model: {
    type: 'BPE',
    vocab: Object.fromEntries([...byteSigns(), '</s>'].map((sign, id) => [sign, id])),
    merges: [],
  },
};

const tokenizerConfig = { tokenizer_class: 'PreTrainedTokenizerFast', eos_token: '</s>', pad_token: '</s>' };

/** Writes a checkpoint of one file. @param {string} directory @param {Tensor[]} tensors */
export const writeCheckpoint = (directory, tensors) => {
  mkdirSync(directory, { recursive: true });
  const data = tensors.map((one) => new Uint8Array(one.data.buffer));
  writeFileSync(join(directory, 'model.safetensors'), Buffer.concat([encodeHeader(tensors), ...data]));
  for (const [name, content] of Object.entries({
    'config.json': config,
    'tokenizer.json': tokenizer,
    'tokenizer_config.json': tokenizerConfig,
  }))
    writeFileSync(join(directory, name), `${JSON.stringify(content, null, 2)}\n`);
};
