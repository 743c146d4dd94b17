// @ts-check
// Checkpoints with the exact shapes of Llama 3.1 8B and 405B, and a chosen number of layers.
import { closeSync, existsSync, ftruncateSync, mkdirSync, openSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { encodeHeader } from 'layerloom';

export const vocabulary = 128256;

/**
 * Sizes of a model of the family.
 *
 * @typedef {{ hidden: number, inner: number, keyValue: number, heads: [number, number] }} Sizes
 */

/** @type {Sizes} */
const full = { hidden: 4096, inner: 14336, keyValue: 1024, heads: [32, 8] };

/** Sizes of Llama 3.1 405B. @type {Sizes} */
export const larger = { hidden: 16384, inner: 53248, keyValue: 1024, heads: [128, 8] };

/**
 * Names and shapes in the model's order.
 *
 * @param {number} layers
 * @param {number} rows of the vocabulary
 * @param {Sizes} [sizes]
 * @returns {[string, number[]][]}
 */
export const tensorsOf = (layers, rows, sizes = full) => [
  ['model.embed_tokens.weight', [rows, sizes.hidden]],
  ...Array.from({ length: layers }, (_, layer) =>
    Object.entries({
      input_layernorm: [sizes.hidden],
      'mlp.down_proj': [sizes.hidden, sizes.inner],
      'mlp.gate_proj': [sizes.inner, sizes.hidden],
      'mlp.up_proj': [sizes.inner, sizes.hidden],
      post_attention_layernorm: [sizes.hidden],
      'self_attn.k_proj': [sizes.keyValue, sizes.hidden],
      'self_attn.o_proj': [sizes.hidden, sizes.hidden],
      'self_attn.q_proj': [sizes.hidden, sizes.hidden],
      'self_attn.v_proj': [sizes.keyValue, sizes.hidden],
    }).map(
      ([module, shape]) =>
        /** @type {[string, number[]]} */ ([`model.layers.${layer}.${module}.weight`, shape]),
    ),
  ).flat(),
  ['model.norm.weight', [sizes.hidden]],
  ['lm_head.weight', [rows, sizes.hidden]],
];

/** The `config.json`. @param {number} layers @param {number} rows @param {Sizes} [sizes] */
export const configOf = (layers, rows, sizes = full) => ({
  architectures: ['LlamaForCausalLM'],
  model_type: 'llama',
  hidden_size: sizes.hidden,
  intermediate_size: sizes.inner,
  num_hidden_layers: layers,
  num_attention_heads: sizes.heads[0],
  num_key_value_heads: sizes.heads[1],
  vocab_size: rows,
  max_position_embeddings: 131072,
  rms_norm_eps: 1e-5,
  rope_theta: 500000,
  tie_word_embeddings: false,
  torch_dtype: 'bfloat16',
});

/** xorshift: reproducible numbers. @param {number} seed */
export const generator = (seed) => {
  let state = seed;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state >>> 0;
  };
};

const blockElements = 16 * 1024 * 1024;

/** Weights of the base: bfloat16 of both signs around 1/64. */
const baseBlock = () => {
  const random = generator(31);
  return Uint16Array.from({ length: blockElements }, () => {
    const bits = random();
    return ((bits & 1) << 15) | ((119 + ((bits >>> 1) % 4)) << 7) | ((bits >>> 8) & 127);
  });
};

/**
 * An expert's weights: a random fiftieth differs in the last bit.
 *
 * @param {Uint16Array} base
 * @param {number} seed
 */
const expertBlock = (base, seed) => {
  const random = generator(seed);
  return base.map((bits) => (random() % 50 === 0 ? bits ^ 1 : bits));
};

/**
 * Weights of an expert with longer training: each changes by up to eight units in the last place. Magnitudes
 * have ties, like those of real bfloat16 experts.
 *
 * @param {Uint16Array} base
 * @param {number} seed
 */
const tunedBlock = (base, seed) => {
  const random = generator(seed);
  return base.map((bits) => bits + ((random() >>> 8) % 17) - 8);
};

/**
 * Shards like the hub's libraries: in order, up to 5 GB a file.
 *
 * @param {{ name: string, dtype: 'BF16', shape: number[], bytes: number }[]} tensors
 * @param {number} most bytes of a file
 */
const shardsOf = (tensors, most) => {
  /** @type {(typeof tensors)[]} */
  const shards = [[]];
  let bytes = 0;
  for (const tensor of tensors) {
    if (bytes > 0 && bytes + tensor.bytes > most) {
      shards.push([]);
      bytes = 0;
    }
    shards.at(-1)?.push(tensor);
    bytes += tensor.bytes;
  }
  return shards;
};

/**
 * @param {string} directory
 * @param {number} layers
 * @param {Uint16Array} block
 * @param {{ rows?: number, sizes?: Sizes, filled?: number, most?: number }} [options] `filled`: bytes written
 *   of each tensor, the rest are holes; `most`: bytes of a file
 */
const write = (
  directory,
  layers,
  block,
  { rows = vocabulary, sizes = full, filled = Number.POSITIVE_INFINITY, most = 5e9 } = {},
) => {
  mkdirSync(directory, { recursive: true });
  const tensors = tensorsOf(layers, rows, sizes).map(([name, shape]) => ({
    name,
    dtype: /** @type {const} */ ('BF16'),
    shape,
    bytes: 2 * shape.reduce((a, b) => a * b),
  }));
  const shards = shardsOf(tensors, most);
  /** @type {Record<string, string>} */
  const weightMap = {};
  for (const [index, shard] of shards.entries()) {
    const number = (/** @type {number} */ n) => String(n).padStart(5, '0');
    const file =
      shards.length === 1
        ? 'model.safetensors'
        : `model-${number(index + 1)}-of-${number(shards.length)}.safetensors`;
    const fd = openSync(join(directory, file), 'w');
    let at = writeSync(fd, encodeHeader(shard));
    for (const { name, bytes } of shard) {
      weightMap[name] = file;
      const end = at + Math.min(bytes, filled);
      for (let next = at; next < end; next += block.byteLength)
        writeSync(fd, new Uint8Array(block.buffer, 0, Math.min(end - next, block.byteLength)), 0, null, next);
      at += bytes;
    }
    ftruncateSync(fd, at);
    closeSync(fd);
  }
  if (shards.length > 1)
    writeFileSync(
      join(directory, 'model.safetensors.index.json'),
      JSON.stringify({ metadata: {}, weight_map: weightMap }),
    );
  // Last: a directory with a configuration is complete.
  writeFileSync(
    join(directory, 'config.json'),
    `${JSON.stringify(configOf(layers, rows, sizes), null, 2)}\n`,
  );
};

/**
 * Makes a base and experts, unless they exist.
 *
 * @param {string} directory
 * @param {number} layers
 * @param {string[]} names `base` is the base, others are experts, `tuned…` with longer training
 * @param {number} [rows] of the vocabulary
 * @returns {string[]} their paths
 */
export const makeCheckpoints = (directory, layers, names, rows = vocabulary) => {
  const missing = names.filter((name) => !existsSync(join(directory, name, 'config.json')));
  const base = missing.length === 0 ? undefined : baseBlock();
  for (const name of missing) {
    if (base === undefined) break;
    // Seeded by its own number, so that it does not depend on the other names.
    const tuned = /^tuned-(\d+)$/.exec(name)?.[1];
    const block =
      name === 'base'
        ? base
        : tuned === undefined
          ? expertBlock(base, 1000 + names.indexOf(name))
          : tunedBlock(base, 2000 + Number(tuned));
    write(join(directory, name), layers, block, { rows });
  }
  return names.map((name) => join(directory, name));
};

/**
 * Makes checkpoints with the shapes of Llama 3.1 405B and tokenizers, unless they exist.
 *
 * @param {string} directory
 * @param {number} layers
 * @param {string[]} names the base, then its experts
 * @param {{ filled: number, most?: number, others?: number }} options `filled`: bytes written of each tensor,
 *   the rest are holes; `others`: letters of the tokenizer that no other one has
 * @returns {string[]} their paths
 */
export const makeLargeCheckpoints = (directory, layers, names, { others = 0, ...options }) => {
  const base = baseBlock();
  return names.map((name, index) => {
    const path = join(directory, name);
    if (existsSync(join(path, 'config.json'))) return path;
    mkdirSync(path, { recursive: true });
    writeFileSync(join(path, 'tokenizer.json'), JSON.stringify(tokenizerOf(vocabulary, 256, others)));
    write(path, layers, index === 0 ? base : tunedBlock(base, 2000 + index), { sizes: larger, ...options });
    return path;
  });
};

/**
 * A byte-level BPE tokenizer, with a file as large as Llama's.
 *
 * @param {number} tokens
 * @param {number} added added tokens, the last ones
 * @param {number} [others] letters that no other tokenizer has, the first ones
 */
const tokenizerOf = (tokens, added, others = 0) => {
  const letters = Array.from({ length: 256 }, (_, index) =>
    String.fromCodePoint((index < others ? 0x3400 : 0x4e00) + index),
  );
  const vocab = [...letters];
  /** @type {string[]} */
  const merges = [];
  const longer = (/** @type {string} */ left, /** @type {string} */ right) => {
    vocab.push(left + right);
    merges.push(`${left} ${right}`);
  };
  for (let shorter = 0; vocab.length < tokens - added; shorter += 1)
    for (const letter of letters) if (vocab.length < tokens - added) longer(vocab[shorter] ?? '', letter);
  return {
    version: '1.0',
    added_tokens: Array.from({ length: added }, (_, index) => ({
      id: tokens - added + index,
      content: `<added-${index}>`,
      single_word: false,
      lstrip: false,
      rstrip: false,
      normalized: false,
      special: true,
    })),
    model: { type: 'BPE', vocab: Object.fromEntries(vocab.map((token, id) => [token, id])), merges },
  };
};

/**
 * Makes three experts with tokenizers, unless they exist: two with the same vocabulary, one with another
 * token and row.
 *
 * @param {string} directory
 * @param {number} layers
 * @returns {string[]} their paths
 */
export const makeVocabularies = (directory, layers) =>
  [0, 0, 1].map((more, index) => {
    const path = join(directory, `tokens-${index + 1}`);
    if (existsSync(join(path, 'config.json'))) return path;
    mkdirSync(path, { recursive: true });
    writeFileSync(
      join(path, 'tokenizer.json'),
      JSON.stringify(tokenizerOf(vocabulary + more, 256 + more), null, 2),
    );
    write(path, layers, expertBlock(baseBlock(), 3000 + index), { rows: vocabulary + more });
    return path;
  });

/** Names, rows and columns of the matrices that adapters change. @param {Sizes} sizes */
const adaptedOf = ({ hidden, inner, keyValue }) => [
  ['mlp.down_proj', hidden, inner],
  ['mlp.gate_proj', inner, hidden],
  ['mlp.up_proj', inner, hidden],
  ['self_attn.k_proj', keyValue, hidden],
  ['self_attn.o_proj', hidden, hidden],
  ['self_attn.q_proj', hidden, hidden],
  ['self_attn.v_proj', keyValue, hidden],
];

/**
 * Numbers like those of trained adapters: both signs, around 1/256.
 *
 * @param {number} count
 * @param {number} seed
 */
const adapterNumbers = (count, seed) => {
  const random = generator(seed);
  return Float32Array.from({ length: count }, () => (random() / 2 ** 32 - 0.5) / 128);
};

/**
 * Makes LoRA adapters of all attention and MLP weights, in float32, unless they exist.
 *
 * @param {string} directory
 * @param {number} layers
 * @param {number} rank
 * @param {string[]} names
 * @param {Sizes} [sizes]
 * @returns {string[]} their paths
 */
export const makeAdapters = (directory, layers, rank, names, sizes = full) => {
  const adapted = adaptedOf(sizes);
  return names.map((name, index) => {
    const path = join(directory, `${name}-r${rank}`);
    if (existsSync(join(path, 'adapter_config.json'))) return path;
    mkdirSync(path, { recursive: true });
    const tensors = Array.from({ length: layers }, (_, layer) =>
      adapted.flatMap(([module, rows, columns]) =>
        Object.entries({ lora_A: [rank, Number(columns)], lora_B: [Number(rows), rank] }).map(
          ([part, shape]) => ({
            name: `base_model.model.model.layers.${layer}.${module}.${part}.weight`,
            dtype: /** @type {const} */ ('F32'),
            shape,
            bytes: 4 * shape.reduce((a, b) => a * b),
          }),
        ),
      ),
    ).flat();
    const fd = openSync(join(path, 'adapter_model.safetensors'), 'w');
    writeSync(fd, encodeHeader(tensors));
    for (const [tensor, { bytes }] of tensors.entries())
      writeSync(fd, adapterNumbers(bytes / 4, 4001 + 1000 * index + tensor));
    closeSync(fd);
    const config = {
      peft_type: 'LORA',
      task_type: 'CAUSAL_LM',
      base_model_name_or_path: null,
      r: rank,
      lora_alpha: 2 * rank,
      target_modules: adapted.map(([module]) => String(module).replace(/^.*\./, '')),
      bias: 'none',
    };
    writeFileSync(join(path, 'adapter_config.json'), `${JSON.stringify(config, null, 2)}\n`);
    return path;
  });
};
