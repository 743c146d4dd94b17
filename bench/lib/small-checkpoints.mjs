// @ts-check
// Checkpoints with the tensors of Llama 3.1 8B and almost no weights, for costs per tensor and merge.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { encodeHeader } from 'layerloom';
import { configOf, tensorsOf } from './checkpoints.mjs';

/** @typedef {{ layers: number, vocabulary: number, sizes: import('./checkpoints.mjs').Sizes }} Shape */

/** All tensors, in 80 KB. @type {Shape} */
const many = { layers: 32, vocabulary: 16, sizes: { hidden: 8, inner: 16, keyValue: 8, heads: [1, 1] } };

/** Hashes a number to 32 bits. @param {number} number */
const mixed = (number) => {
  const once = Math.imul(number ^ (number >>> 16), 0x45d9f3b);
  return Math.imul(once ^ (once >>> 13), 0x2c1b3c6d) >>> 0;
};

/**
 * A bfloat16 of either sign from 2⁻⁸ to 2⁻⁴. Models differ only in the last two bits of its fraction.
 *
 * @param {number} at
 * @param {number} model
 */
const weight = (at, model) => {
  const bits = mixed(at + 1);
  return ((bits & 0x8000) | (0x3b80 + ((bits >>> 16) & 0x1ff))) ^ (model && mixed(at + (model << 24)) & 3);
};

/**
 * Makes a checkpoint in each of the directories, unless it exists.
 *
 * @param {string} directory
 * @param {readonly string[]} names
 * @param {Shape} [shape]
 */
export const makeSmallCheckpoints = (directory, names, { layers, vocabulary, sizes } = many) => {
  for (const [index, name] of names.entries()) {
    const path = join(directory, name);
    if (existsSync(join(path, 'config.json'))) continue;
    mkdirSync(path, { recursive: true });
    const listed = tensorsOf(layers, vocabulary, sizes).map(([tensor, shape]) => ({
      name: tensor,
      dtype: /** @type {const} */ ('BF16'),
      shape,
      bytes: 2 * shape.reduce((a, b) => a * b),
    }));
    const bytes = listed.reduce((total, tensor) => total + tensor.bytes, 0);
    const weights = Uint16Array.from({ length: bytes / 2 }, (_, at) => weight(at, index));
    writeFileSync(
      join(path, 'model.safetensors'),
      Buffer.concat([encodeHeader(listed), Buffer.from(weights.buffer)]),
    );
    writeFileSync(join(path, 'config.json'), `${JSON.stringify(configOf(layers, vocabulary, sizes))}\n`);
  }
};
