// @ts-check
// Checkpoints with the tensors of Llama 3.1 8B and next to no weights, for what grows with the number of tensors and merges.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { encodeHeader } from 'layerloom';
import { configOf, tensorsOf } from './checkpoints.mjs';

const [layers, vocabulary] = [32, 16];

/** @type {import('./checkpoints.mjs').Sizes} */
const sizes = { hidden: 8, inner: 16, keyValue: 8, heads: [1, 1] };

/**
 * Makes a checkpoint of 291 tensors, 80 KB, in each of the directories.
 *
 * @param {string} directory @param {readonly string[]} names
 */
export const makeSmallCheckpoints = (directory, names) => {
  for (const [index, name] of names.entries()) {
    const path = join(directory, name);
    mkdirSync(path, { recursive: true });
    const listed = tensorsOf(layers, vocabulary, sizes).map(([tensor, shape]) => ({
      name: tensor,
      dtype: /** @type {const} */ ('BF16'),
      shape,
      bytes: 2 * shape.reduce((a, b) => a * b),
    }));
    const bytes = listed.reduce((total, tensor) => total + tensor.bytes, 0);
    const weights = Uint16Array.from({ length: bytes / 2 }, (_, at) => 0x3c00 + ((at * 7 + index * 13) % 64));
    writeFileSync(
      join(path, 'model.safetensors'),
      Buffer.concat([encodeHeader(listed), Buffer.from(weights.buffer)]),
    );
    writeFileSync(join(path, 'config.json'), `${JSON.stringify(configOf(layers, vocabulary, sizes))}\n`);
  }
};
