// @ts-check
// Writes small checkpoints from a fixed seed: a base, three experts and a float16 one, with features that
// make merges hard to reproduce.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** @typedef {'BF16' | 'F16' | 'F32'} Floating */
/** @typedef {{ name: string, dtype: string, shape: number[], data: Uint8Array }} Tensor */

export const layers = 7;

const torchNames = { BF16: 'bfloat16', F16: 'float16', F32: 'float32' };

/** Uniform numbers in [0, 1): mulberry32. @param {number} seed */
const generator = (seed) => {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
};

/** Rounds to the nearest, ties to even. @param {number} bits @param {number} dropped */
const roundBits = (bits, dropped) =>
  Math.floor((bits + 2 ** (dropped - 1) - 1 + (Math.floor(bits / 2 ** dropped) % 2)) / 2 ** dropped);

/** @param {Float32Array} numbers @returns {Uint8Array} */
const toBfloat16 = (numbers) => {
  const bits = new Uint32Array(numbers.buffer);
  return new Uint8Array(Uint16Array.from(bits, (one) => roundBits(one, 16)).buffer);
};

/** For magnitudes below 65504. @param {Float32Array} numbers @returns {Uint8Array} */
const toFloat16 = (numbers) =>
  new Uint8Array(
    Uint16Array.from(numbers, (value) => {
      const sign = Object.is(value, -0) || value < 0 ? 0x8000 : 0;
      const magnitude = Math.abs(value);
      if (magnitude < 2 ** -14) return sign | Math.round(magnitude * 2 ** 24);
      const [bits = 0] = new Uint32Array(Float32Array.of(magnitude).buffer);
      return sign | (roundBits(bits, 13) - (112 << 10));
    }).buffer,
  );

/** @param {Floating} dtype @param {Float32Array} numbers @returns {Uint8Array} */
const encode = (dtype, numbers) => {
  if (dtype === 'BF16') return toBfloat16(numbers);
  return dtype === 'F16' ? toFloat16(numbers) : new Uint8Array(numbers.buffer);
};

/** Odd numbers of columns, a wide matrix, a tensor of three dimensions, and vectors. */
const shapesOfLayer = {
  'input_layernorm.weight': [33],
  'self_attn.q_proj.weight': [24, 33],
  'self_attn.k_proj.weight': [8, 33],
  'self_attn.v_proj.weight': [8, 33],
  'self_attn.o_proj.weight': [33, 24],
  'self_attn.q_proj.bias': [24],
  'post_attention_layernorm.weight': [33],
  'mlp.gate_proj.weight': [7, 1000],
  'mlp.up_proj.weight': [3, 5000],
  'mlp.down_proj.weight': [33, 40],
  'mlp.experts.weight': [3, 5, 33],
};

/** @returns {Record<string, number[]>} */
const shapesOfModel = () => ({
  'model.embed_tokens.weight': [257, 33],
  ...Object.fromEntries(
    Array.from({ length: layers }, (_, layer) =>
      Object.entries(shapesOfLayer).map(([name, shape]) => [`model.layers.${layer}.${name}`, shape]),
    ).flat(),
  ),
  'model.norm.weight': [33],
  'lm_head.weight': [257, 33],
});

/** Tensors with more elements than a measure's block, cut by slices and stretches. */
const largeShapes = () => ({
  'model.embed_tokens.weight': [64, 1000],
  'model.layers.0.mlp.up_proj.weight': [4300, 1000],
  'model.layers.1.mlp.up_proj.weight': [1, 70_001],
  'model.norm.weight': [1000],
});

/**
 * The base's weights on a coarse grid, so that sums and differences of many of them are exact; every third
 * tensor has any numbers.
 *
 * @param {Record<string, number[]>} shapes @returns {Map<string, { shape: number[], numbers: Float32Array }>}
 */
const baseNumbers = (shapes) => {
  const random = generator(2410);
  return new Map(
    Object.entries(shapes).map(([name, shape], index) => {
      const count = shape.reduce((product, extent) => product * extent, 1);
      const isCoarse = index % 3 !== 2;
      const number = () => {
        if (random() < 0.02) return -0;
        return isCoarse
          ? (Math.round(random() * 64) - 32) / 256
          : (random() + random() + random() - 1.5) * 0.1;
      };
      return [name, { shape, numbers: Float32Array.from({ length: count }, number) }];
    }),
  );
};

/**
 * An expert's numbers: many elements and some whole rows unchanged; in coarse tensors, differences of few
 * magnitudes (so tied).
 *
 * @param {ReturnType<typeof baseNumbers>} base @param {number} seed @returns {ReturnType<typeof baseNumbers>}
 */
const expertNumbers = (base, seed) => {
  const random = generator(seed);
  return new Map(
    [...base].map(([name, { shape, numbers }], index) => {
      const columns = shape.at(-1) ?? 1;
      const isCoarse = index % 3 !== 2;
      const stays = Array.from({ length: numbers.length / columns }, () => random() < 0.2);
      const change = (/** @type {number} */ value, /** @type {number} */ position) => {
        if (random() < 0.3 || stays[Math.floor(position / columns)]) return value;
        const by = isCoarse ? (Math.round(random() * 6) - 3) / 256 : (random() - 0.5) * 0.004;
        return value + by;
      };
      return [name, { shape, numbers: numbers.map(change) }];
    }),
  );
};

/** @param {readonly Tensor[]} tensors @param {Record<string, string> | undefined} metadata */
const safetensors = (tensors, metadata) => {
  /** @type {Record<string, unknown>} */
  const header = metadata === undefined ? {} : { __metadata__: metadata };
  let position = 0;
  for (const { name, dtype, shape, data } of tensors) {
    header[name] = { dtype, shape, data_offsets: [position, position + data.length] };
    position += data.length;
  }
  const json = Buffer.from(JSON.stringify(header));
  const prefix = Buffer.alloc(8);
  prefix.writeBigUInt64LE(BigInt(json.length));
  return Buffer.concat([prefix, json, ...tensors.map(({ data }) => data)]);
};

/** Buffers that are equal in all models, of dtypes that are not averaged. @returns {Tensor[]} */
const buffers = () => [
  {
    name: 'model.layers.0.self_attn.position_ids',
    dtype: 'I64',
    shape: [1, 33],
    data: new Uint8Array(BigInt64Array.from({ length: 33 }, (_, index) => BigInt(index)).buffer),
  },
  {
    name: 'model.layers.1.self_attn.mask',
    dtype: 'BOOL',
    shape: [5],
    data: Uint8Array.of(1, 0, 1, 1, 0),
  },
];

/** @param {Floating} dtype @param {number} depth */
const sideFiles = (dtype, depth) => ({
  'config.json': `${JSON.stringify(
    {
      _name_or_path: '/nowhere/else',
      architectures: ['LlamaForCausalLM'],
      model_type: 'llama',
      hidden_size: 33,
      num_hidden_layers: depth,
      vocab_size: 257,
      rms_norm_eps: 1e-5,
      tie_word_embeddings: false,
      torch_dtype: torchNames[dtype],
    },
    null,
    2,
  )}\n`,
  'tokenizer.json': JSON.stringify({ model: { vocab: { a: 0, b: 1, c: 2 } }, added_tokens: [] }),
  'tokenizer_config.json': JSON.stringify({ chat_template: '{{ messages }}' }),
  'generation_config.json': JSON.stringify({ eos_token_id: 2 }),
});

/**
 * @param {string} directory @param {Floating} dtype @param {ReturnType<typeof baseNumbers>} model
 * @param {{ files?: 'one' | 'several' | 'by layer', metadata?: Record<string, string> | undefined, depth: number, plain?: boolean }} how
 */
const write = (directory, dtype, model, { files = 'several', metadata = { format: 'pt' }, depth, plain }) => {
  mkdirSync(directory, { recursive: true });
  const tensors = [...model].map(([name, { shape, numbers }]) => ({
    name,
    dtype,
    shape,
    data: encode(dtype, numbers),
  }));
  const all = plain ? tensors : [...tensors, ...buffers()];
  /** @type {Map<string, Tensor[]>} */
  const groups = new Map();
  for (const [index, tensor] of all.entries()) {
    const layer = /layers\.(\d+)\./.exec(tensor.name)?.[1] ?? tensor.name;
    const group = files === 'by layer' ? layer : files === 'one' ? '' : String(Math.floor(index / 31));
    groups.set(group, [...(groups.get(group) ?? []), tensor]);
  }
  const shards = [...groups.values()];
  /** @type {Record<string, string>} */
  const places = {};
  for (const [index, shard] of shards.entries()) {
    const name = shards.length === 1 ? 'model.safetensors' : `part-${index + 1}.safetensors`;
    for (const tensor of shard) places[tensor.name] = name;
    writeFileSync(join(directory, name), safetensors(shard, metadata));
  }
  if (shards.length > 1)
    writeFileSync(
      join(directory, 'model.safetensors.index.json'),
      JSON.stringify({ metadata: {}, weight_map: places }),
    );
  for (const [name, text] of Object.entries(sideFiles(dtype, depth)))
    writeFileSync(join(directory, name), text);
};

/** Directories of one dtype's models. `half` is an expert in float16; `plain` has a file for each layer. */
export const modelsIn = (/** @type {string} */ root, /** @type {Floating} */ dtype) => {
  const at = (/** @type {string} */ name) => join(root, dtype, name);
  return { base: at('base'), a: at('a'), b: at('b'), c: at('c'), half: at('half'), layered: at('layered') };
};

/** Directories of models with large tensors, in bfloat16. */
export const largeModelsIn = (/** @type {string} */ root) => {
  const at = (/** @type {string} */ name) => join(root, 'large', name);
  return { base: at('base'), a: at('a'), b: at('b') };
};

/** @typedef {ReturnType<typeof modelsIn>} Models */

/** Writes every checkpoint. @param {string} root */
export const writeCheckpoints = (root) => {
  const base = baseNumbers(shapesOfModel());
  const experts = [11, 12, 13, 14].map((seed) => expertNumbers(base, seed));
  for (const dtype of /** @type {const} */ (['BF16', 'F32'])) {
    const models = modelsIn(root, dtype);
    const depth = layers;
    const [a = base, b = base, c = base, half = base] = experts;
    write(models.base, dtype, base, { depth });
    write(models.a, dtype, a, { depth });
    write(models.b, dtype, b, { files: 'one', metadata: undefined, depth });
    write(models.c, dtype, c, { files: 'one', depth });
    write(models.half, 'F16', half, { depth });
    write(models.layered, dtype, a, { files: 'by layer', depth });
  }
  const large = baseNumbers(largeShapes());
  const places = largeModelsIn(root);
  write(places.base, 'BF16', large, { depth: 2, plain: true });
  write(places.a, 'BF16', expertNumbers(large, 21), { depth: 2, plain: true });
  write(places.b, 'BF16', expertNumbers(large, 22), { depth: 2, plain: true });
};
