// @ts-check
import { mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { seeded } from './choose.mjs';

/** @typedef {Readonly<Record<string, readonly number[]>>} Shapes */

/** @param {Shapes} shapes @param {number} seed */
const safetensors = (shapes, seed) => {
  const random = seeded(seed);
  /** @type {Record<string, unknown>} */
  const header = { __metadata__: { format: 'pt' } };
  const parts = [];
  let at = 0;
  for (const [name, shape] of Object.entries(shapes)) {
    const numbers = Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, () => random() - 0.5);
    header[name] = { dtype: 'F32', shape, data_offsets: [at, at + numbers.byteLength] };
    at += numbers.byteLength;
    parts.push(Buffer.from(numbers.buffer));
  }
  const text = Buffer.from(JSON.stringify(header));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(text.length));
  return Buffer.concat([length, text, ...parts]);
};

const layers = 3;

/** @typedef {{ readonly hidden: number; readonly vocabulary: number }} Size */

/** @type {Size} */
const small = { hidden: 16, vocabulary: 24 };

/** Size of models that are fetched by ranges: more than comes with a header. @type {Size} */
export const large = { hidden: 64, vocabulary: 256 };

/** @param {Size} size @returns {Record<string, readonly number[]>} */
const shapes = ({ hidden, vocabulary }) => {
  /** @type {Record<string, readonly number[]>} */
  const of = { 'model.embed_tokens.weight': [vocabulary, hidden] };
  for (let layer = 0; layer < layers; layer += 1) {
    of[`model.layers.${layer}.input_layernorm.weight`] = [hidden];
    of[`model.layers.${layer}.self_attn.q_proj.weight`] = [hidden, hidden];
    of[`model.layers.${layer}.mlp.down_proj.weight`] = [hidden, hidden];
  }
  return { ...of, 'model.norm.weight': [hidden] };
};

/** @param {Size} size */
const config = ({ hidden, vocabulary }) => ({
  ...{
    architectures: ['LlamaForCausalLM'],
    model_type: 'llama',
    hidden_size: hidden,
    vocab_size: vocabulary,
  },
  ...{ num_hidden_layers: layers, num_attention_heads: 4, tie_word_embeddings: true },
});

/** Time of all inputs, which identifies shards. */
const written = new Date('2024-01-01T00:00:00Z');

/** @param {string} directory @param {Readonly<Record<string, Buffer | object>>} files */
const writeFiles = (directory, files) => {
  mkdirSync(directory, { recursive: true });
  for (const [name, content] of Object.entries(files))
    writeFileSync(join(directory, name), content instanceof Buffer ? content : JSON.stringify(content));
  for (const name of readdirSync(directory)) utimesSync(join(directory, name), written, written);
};

/** @param {string} directory @param {number} seed @param {Size} [size] */
export const writeModel = (directory, seed, size = small) =>
  writeFiles(directory, {
    'model.safetensors': safetensors(shapes(size), seed),
    'config.json': config(size),
  });

/** A LoRA adapter of the models. @param {string} directory @param {number} seed */
export const writeAdapter = (directory, seed) => {
  const rank = 2;
  const { hidden } = small;
  /** @type {Record<string, readonly number[]>} */
  const factors = {};
  for (let layer = 0; layer < layers; layer += 1) {
    const module = `base_model.model.model.layers.${layer}.self_attn.q_proj`;
    factors[`${module}.lora_A.weight`] = [rank, hidden];
    factors[`${module}.lora_B.weight`] = [hidden, rank];
  }
  writeFiles(directory, {
    'adapter_model.safetensors': safetensors(factors, seed),
    'adapter_config.json': {
      ...{ peft_type: 'LORA', r: rank, lora_alpha: 4, target_modules: ['q_proj'], bias: 'none' },
      ...{ task_type: 'CAUSAL_LM', fan_in_fan_out: false },
    },
  });
};
