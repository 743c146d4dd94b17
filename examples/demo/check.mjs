// @ts-check
// Algorithm 1 a second time: short, slow, one element after another, and sharing no code with what it checks.
import { readFileSync } from 'node:fs';
import { openCheckpoint } from 'layerloom';

/** @typedef {import('./experts.mjs').Tensor} Tensor */

const float = new Float32Array(1);
const word = new Uint32Array(float.buffer);

/** The value of a bfloat16's bits. @param {number} bits */
const decode = (bits) => {
  word[0] = bits << 16;
  return float[0] ?? Number.NaN;
};

/** The nearest bfloat16, ties to even. @param {number} value */
export const encode = (value) => {
  float[0] = value;
  const bits = word[0] ?? 0;
  return (bits + 0x7fff + ((bits >>> 16) & 1)) >>> 16;
};

/** A checkpoint's tensors as their bits. @param {string} directory @returns {Promise<Map<string, Uint16Array>>} */
export const readTensors = async (directory) => {
  const { files, tensors } = await openCheckpoint(directory);
  const contents = files.map(({ path }) => readFileSync(path));
  return new Map(
    [...tensors].map(([name, { file, begin, end }]) => [
      name,
      new Uint16Array(Uint8Array.from(contents[file]?.subarray(begin, end) ?? []).buffer),
    ]),
  );
};

/**
 * Compares a merged checkpoint with what Algorithm 1 gives for the experts.
 *
 * @param {string} directory @param {Tensor[]} task @param {Tensor[]} language
 * @param {{ layers: number, bottom: number, top: number }} counts
 * @returns {Promise<{ elements: number, wrong: string[] }>}
 */
export const checkSwap = async (directory, task, language, { layers, bottom, top }) => {
  const merged = await readTensors(directory);
  const wrong = [];
  let elements = 0;
  for (const [index, { name, data }] of task.entries()) {
    const other = language[index]?.data ?? new Uint16Array();
    const layer = /layers\.(\d+)\./.exec(name)?.[1];
    const swapped = layer !== undefined && (Number(layer) < bottom || Number(layer) > layers - 1 - top);
    const average = () => data.map((bits, at) => encode((decode(bits) + decode(other[at] ?? 0)) / 2));
    const expected = layer === undefined ? average() : swapped ? other : data;
    const actual = merged.get(name);
    if (actual?.length !== expected.length || !expected.every((bits, at) => bits === actual[at]))
      wrong.push(name);
    elements += expected.length;
  }
  for (const name of merged.keys()) if (!task.some((tensor) => tensor.name === name)) wrong.push(name);
  return { elements, wrong };
};
