// @ts-check
// Swaps two small experts by command and by function, and compares every element with Algorithm 1. smoke.sh
// copies it into a project with layerloom installed.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { layerSwap, openCheckpoint } from 'layerloom';

const names = [
  'model.embed_tokens.weight',
  ...[0, 1, 2].map((layer) => `model.layers.${layer}.mlp.up_proj.weight`),
];
// Longer than a vector of any instruction set, and no multiple of one.
const elements = 1000 + 13;

/**
 * @param {string} directory @param {number} value of every element
 */
const writeExpert = (directory, value) => {
  const bytes = 4 * elements;
  const tensors = names.map((name, index) => ({
    name,
    dtype: 'F32',
    shape: [elements],
    begin: index * bytes,
    end: (index + 1) * bytes,
  }));
  mkdirSync(directory);
  const data = new Float32Array(names.length * elements).fill(value);
  const header = Buffer.from(
    JSON.stringify(
      Object.fromEntries(
        tensors.map(({ name, dtype, shape, begin, end }) => [
          name,
          { dtype, shape, data_offsets: [begin, end] },
        ]),
      ),
    ),
  );
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(header.length));
  writeFileSync(`${directory}/model.safetensors`, Buffer.concat([length, header, Buffer.from(data.buffer)]));
};

/** Values of a checkpoint's tensors, each constant. @param {string} directory */
const valuesOf = async (directory) => {
  const { files, tensors } = await openCheckpoint(directory);
  return names.map((name) => {
    const { file, begin, end } = tensors.get(name) ?? { file: 0, begin: 0, end: 0 };
    const content = readFileSync(files[file]?.path ?? '');
    const values = new Set(new Float32Array(Uint8Array.from(content.subarray(begin, end)).buffer));
    if (values.size !== 1 || end - begin !== 4 * elements)
      throw new Error(`${name} of ${directory} has ${[...values]}`);
    return [...values][0];
  });
};

writeExpert('math', 1);
writeExpert('swahili', 3);
const words = [
  '--no-install',
  'layerloom',
  'swap',
  '--task',
  'math',
  '--lang',
  'swahili',
  '--bottom',
  '1',
  '--top',
  '1',
  '-o',
  'by-command',
];
execFileSync('npx', words, { stdio: 'inherit' });
await layerSwap({ task: 'math', language: 'swahili', bottom: 1, top: 1 }, { out: 'by-function' });
for (const directory of ['by-command', 'by-function']) {
  const values = await valuesOf(directory);
  if (String(values) !== '2,3,1,3')
    throw new Error(`${directory}: expected the values 2,3,1,3, got ${values}`);
}
console.log('a swap gives what Algorithm 1 says');
