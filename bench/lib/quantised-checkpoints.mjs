// @ts-check
// Quantised checkpoints of layers with the shapes of Llama 3.1 8B, and their bfloat16 counterparts.
import { closeSync, existsSync, mkdirSync, openSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { encodeHeader } from 'layerloom';
import { configOf, tensorsOf } from './checkpoints.mjs';

/** @typedef {{ name: string, dtype: import('layerloom').Dtype, shape: number[], bytes: number, of: 'codes' | 'numbers' | 'exponents' | Uint8Array }} Part */

const rows = 256;
const block = 16 * 1024 * 1024;

/** Bytes with all codes except NaN of E4M3. @param {number} seed */
const codesOf = (seed) => {
  let state = seed;
  return Uint8Array.from({ length: block }, () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    const code = state & 255;
    return code % 128 === 127 ? code - 1 : code;
  });
};

/** Weights in bfloat16, of both signs around 1/64. @param {Uint8Array} codes */
const numbersOf = (codes) => codes.map((code, at) => (at % 2 === 0 ? code : (code & 128) | 60));

const f32 = (/** @type {number} */ value) => new Uint8Array(Float32Array.of(value).buffer);

/** @param {string} name @param {Part['dtype']} dtype @param {number} bits @param {number[]} shape @param {Part['of']} of @returns {Part} */
const part = (name, dtype, bits, shape, of) => ({
  ...{ name, dtype, shape, of },
  bytes: (bits * shape.reduce((a, b) => a * b, 1)) / 8,
});

/**
 * The stored tensors of a matrix, by scheme.
 *
 * @type {Record<string, { settings: object, parts(module: string, shape: [number, number]): Part[] }>}
 */
const schemes = {
  'FP8 blocks': {
    settings: { quant_method: 'fp8', activation_scheme: 'dynamic', weight_block_size: [128, 128] },
    parts: (module, [out, features]) => [
      part(`${module}.weight`, 'F8_E4M3', 8, [out, features], 'codes'),
      part(`${module}.weight_scale_inv`, 'F32', 32, [out / 128, features / 128], f32(2e-4)),
    ],
  },
  NF4: {
    settings: { quant_method: 'bitsandbytes', load_in_4bit: true, bnb_4bit_quant_type: 'nf4' },
    parts: (module, [out, features]) => {
      const state = { quant_type: 'nf4', blocksize: 64, dtype: 'bfloat16', shape: [out, features] };
      const text = new TextEncoder().encode(JSON.stringify(state));
      return [
        part(`${module}.weight`, 'U8', 8, [(out * features) / 2, 1], 'codes'),
        part(`${module}.weight.absmax`, 'F32', 32, [(out * features) / 64], f32(0.05)),
        part(`${module}.weight.quant_map`, 'F32', 32, [16], f32(0)),
        part(`${module}.weight.quant_state.bitsandbytes__nf4`, 'U8', 8, [text.length], text),
      ];
    },
  },
  'GPTQ, act-order': {
    settings: { quant_method: 'gptq', bits: 4, group_size: 128, desc_act: true },
    parts: (module, [out, features]) => {
      const groups = features / 128;
      const order = Int32Array.from({ length: features }, (_, feature) => (feature * 31) % groups);
      return [
        part(`${module}.qweight`, 'I32', 32, [features / 8, out], 'codes'),
        part(`${module}.qzeros`, 'I32', 32, [groups, out / 8], Uint8Array.of(0x77)),
        part(`${module}.scales`, 'BF16', 16, [groups, out], Uint8Array.of(0x80, 0x3b)),
        part(`${module}.g_idx`, 'I32', 32, [features], new Uint8Array(order.buffer)),
      ];
    },
  },
};

/** Fused experts like gpt-oss's, as large as the layer's MLP: four with a quarter of its width. */
const experts = 4;

/** @param {number} layers @returns {[string, number[]][]} */
const expertsOf = (layers) =>
  Array.from({ length: layers }, (_, layer) => {
    const at = `model.layers.${layer}.mlp.experts`;
    return /** @type {[string, number[]][]} */ ([
      [`${at}.gate_up_proj`, [experts, 4096, 7168]],
      [`${at}.down_proj`, [experts, 3584, 4096]],
    ]);
  }).flat();

/** @param {string} name @param {number[]} shape @returns {Part[]} */
const mxfp4 = (name, [count = 1, columns = 1, across = 1]) => [
  part(`${name}_blocks`, 'U8', 8, [count, across, columns / 32, 16], 'codes'),
  part(`${name}_scales`, 'U8', 8, [count, across, columns / 32], Uint8Array.of(120)),
];

/** @param {string} name @param {number[]} shape */
const plain = (name, shape) => part(name, 'BF16', 16, shape, 'numbers');

/** The kinds, each with the bfloat16 kind to compare with. */
export const quantisedKinds = {
  ...Object.fromEntries(Object.keys(schemes).map((kind) => [kind, 'bfloat16'])),
  MXFP4: 'bfloat16 experts',
};

/** @param {string} kind @param {number} layers @returns {{ parts: Part[], settings?: object }} */
const contentOf = (kind, layers) => {
  const scheme = schemes[kind];
  const others = tensorsOf(layers, rows);
  if (kind.endsWith('experts') || kind === 'MXFP4') {
    const isOther = ([name = '']) => !name.includes('.mlp.');
    const all = others.filter(([name]) => isOther([name])).map(([name, shape]) => plain(name, shape));
    const wide = expertsOf(layers).flatMap(([name, shape]) =>
      kind === 'MXFP4' ? mxfp4(name, shape) : [plain(name, shape)],
    );
    const settings = { quant_method: 'mxfp4', modules_to_not_convert: ['model.layers.*.self_attn'] };
    return { parts: [...all, ...wide], ...(kind === 'MXFP4' ? { settings } : {}) };
  }
  const parts = others.flatMap(([name, shape]) => {
    const [out = 1, features] = shape;
    if (scheme === undefined || features === undefined || !name.endsWith('_proj.weight'))
      return [plain(name, shape)];
    return scheme.parts(name.slice(0, -'.weight'.length), [out, features]);
  });
  return { parts, ...(scheme === undefined ? {} : { settings: scheme.settings }) };
};

/**
 * Writes a repeated pattern of `bytes` bytes.
 *
 * @param {number} file
 * @param {number} bytes
 * @param {Uint8Array} pattern
 */
const fill = (file, bytes, pattern) => {
  const most = block - (block % pattern.length);
  const repeated =
    pattern.length >= block
      ? pattern
      : Buffer.alloc(Math.min(most, Math.max(bytes, pattern.length)), pattern);
  for (let left = bytes; left > 0; left -= repeated.length)
    writeSync(file, repeated, 0, Math.min(left, repeated.length));
};

/**
 * Makes checkpoints of a kind, unless they exist.
 *
 * @param {string} directory
 * @param {string} kind
 * @param {number} layers
 * @param {number} count
 */
export const makeQuantised = (directory, kind, layers, count) =>
  Array.from({ length: count }, (_, index) => {
    const path = join(directory, `${kind.replaceAll(/\W+/g, '-')}-${layers}-${index}`);
    if (existsSync(join(path, 'config.json'))) return path;
    mkdirSync(path, { recursive: true });
    const { parts, settings } = contentOf(kind, layers);
    const codes = codesOf(77 + index);
    const numbers = numbersOf(codes);
    const file = openSync(join(path, 'model.safetensors'), 'w');
    writeSync(file, encodeHeader(parts));
    for (const { bytes, of } of parts)
      fill(file, bytes, of === 'codes' ? codes : of === 'numbers' ? numbers : /** @type {Uint8Array} */ (of));
    closeSync(file);
    const config = {
      ...configOf(layers, rows),
      ...(settings === undefined ? {} : { quantization_config: settings }),
    };
    writeFileSync(join(path, 'config.json'), `${JSON.stringify(config, null, 2)}\n`);
    return path;
  });
