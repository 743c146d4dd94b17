// @ts-check
// Sparse GGUF models with the shapes of Llama 3.1 405B.
import { closeSync, ftruncateSync, mkdirSync, openSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { larger, tensorsOf, vocabulary } from './checkpoints.mjs';

const types = { F32: 0, Q8_0: 8, Q4_K: 12, Q6_K: 14 };

/** Elements and bytes of a block. @type {Record<keyof typeof types, [number, number]>} */
const blockSizes = { F32: [1, 4], Q8_0: [32, 34], Q4_K: [256, 144], Q6_K: [256, 210] };

const names = Object.entries({
  'model.embed_tokens': 'token_embd',
  'model.norm': 'output_norm',
  lm_head: 'output',
  input_layernorm: 'attn_norm',
  post_attention_layernorm: 'ffn_norm',
  'self_attn.q_proj': 'attn_q',
  'self_attn.k_proj': 'attn_k',
  'self_attn.v_proj': 'attn_v',
  'self_attn.o_proj': 'attn_output',
  'mlp.gate_proj': 'ffn_gate',
  'mlp.up_proj': 'ffn_up',
  'mlp.down_proj': 'ffn_down',
  'model.layers': 'blk',
});

const ggufName = (/** @type {string} */ name) =>
  names.reduce((text, [module, of]) => text.replace(module, of), name);

/** The types of `q4_k_m`. @param {string} name @param {number} dimensions @returns {keyof typeof types} */
const typeOf = (name, dimensions) =>
  dimensions === 1 ? 'F32' : /attn_v|ffn_down|^output/.test(name) ? 'Q6_K' : 'Q4_K';

const u32 = (/** @type {number} */ value) => Buffer.from(Uint32Array.of(value).buffer);
const u64 = (/** @type {number} */ value) => Buffer.from(BigUint64Array.of(BigInt(value)).buffer);
const text = (/** @type {string} */ value) =>
  Buffer.concat([u64(Buffer.byteLength(value)), Buffer.from(value)]);
const number = (/** @type {string} */ key, /** @type {number} */ value) =>
  Buffer.concat([text(`llama.${key}`), u32(4), u32(value)]);
const float = (/** @type {string} */ key, /** @type {number} */ value) =>
  Buffer.concat([text(`llama.${key}`), u32(6), Buffer.from(Float32Array.of(value).buffer)]);

const alignment = 32;
const aligned = (/** @type {number} */ bytes) => Math.ceil(bytes / alignment) * alignment;

/**
 * Writes a model.
 *
 * @param {string} path
 * @param {number} layers
 * @param {number} filled bytes written of each tensor; the rest are holes
 * @param {number} step varies the weights
 */
export const makeLargeGguf = (path, layers, filled, step) => {
  const metadata = [
    Buffer.concat([text('general.architecture'), u32(8), text('llama')]),
    number('block_count', layers),
    number('context_length', 131072),
    number('embedding_length', larger.hidden),
    number('feed_forward_length', larger.inner),
    number('attention.head_count', larger.heads[0]),
    number('attention.head_count_kv', larger.heads[1]),
    float('attention.layer_norm_rms_epsilon', 1e-5),
    float('rope.freq_base', 500_000),
  ];
  let position = 0;
  const tensors = tensorsOf(layers, vocabulary, larger).map(([name, shape]) => {
    const own = ggufName(name);
    const type = typeOf(own, shape.length);
    const [elements, size] = blockSizes[type];
    const bytes = (shape.reduce((a, b) => a * b) / elements) * size;
    const begin = position;
    position += aligned(bytes);
    const extents = [...shape].reverse().map(u64);
    const entry = [text(own), u32(shape.length), ...extents, u32(types[type]), u64(begin)];
    return { entry: Buffer.concat(entry), begin, bytes };
  });
  const header = Buffer.concat([
    ...[Buffer.from('GGUF'), u32(3), u64(tensors.length), u64(metadata.length)],
    ...metadata,
    ...tensors.map(({ entry }) => entry),
  ]);
  mkdirSync(dirname(path), { recursive: true });
  const fd = openSync(path, 'w');
  writeSync(fd, header);
  const data = aligned(header.length);
  ftruncateSync(fd, data + position);
  // Bytes below 0x3c: 16-bit scales are then finite anywhere.
  const block = new Uint8Array(filled).map((_, at) => (at * step) % 0x3b);
  for (const { begin, bytes } of tensors)
    writeSync(fd, block, 0, Math.min(bytes, block.length), data + begin);
  closeSync(fd);
};
