import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { instructionSets } from '../../src/index.js';
import { fill, llama, llamaShapes, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';

// An instruction set is chosen when a process loads the addon: each has a process of its own, which makes all the merges.
const program = (models: readonly string[], out: string) => `
  import { analyze, layerSwap, soup } from ${JSON.stringify(fileURLToPath(new URL('../../dist/index.js', import.meta.url)))};
  const [task, language, third] = ${JSON.stringify(models)};
  for (const threads of [1, 2, 7])
    await analyze({ base: task, experts: [language, third] }, { threads, out: ${JSON.stringify(out)} + threads + ',analysis' });
  for (const threads of [1, 2, 7])
    for (const sliceBytes of [4104, 8388608])
      for (const dtype of [undefined, 'float8_e4m3fn']) {
        const options = { threads, sliceBytes, layout: 'size', out: ${JSON.stringify(out)} + [threads, sliceBytes, dtype] };
        await layerSwap({ task, language, bottom: 1, top: 1, topTransition: 2, weights: [0.3, 0.9], dtype }, { ...options, out: options.out + 'swap' });
        await soup({ models: [task, language, third], weights: [3, 1, 0.7], dtype }, { ...options, out: options.out + 'soup' });
      }
`;

const hashOf = (directory: string): string => {
  const hash = createHash('sha256');
  for (const name of readdirSync(directory)
    .filter((file) => /\.(safetensors|csv)$|^overlap\.json$/.test(file))
    .sort())
    hash.update(readFileSync(join(directory, name)));
  return hash.digest('hex');
};

it('every instruction set, thread count and slice size makes the same files', async () => {
  const root = temporaryDirectory();
  const shape = { hidden: 88, layers: 5 };
  const inputs = [
    llama({ ...shape, seed: 1 }),
    llama({ ...shape, seed: 2, dtype: 'F16' }),
    { ...llama(shape), tensors: fill(llamaShapes(shape), 'F32', 3) },
  ];
  const models = inputs.map((input, index) => writeCheckpoint(join(root, `model-${index}`), input));
  // The hashes of what should be the same.
  const hashes = new Map<string, Set<string>>();
  for (const isa of instructionSets().available) {
    const out = join(root, isa);
    await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program(models, `${out}-`)], {
      env: { ...process.env, LAYERLOOM_ISA: isa },
    });
    for (const name of readdirSync(root).filter((found) => found.startsWith(`${isa}-`))) {
      const merge = name.split(',').at(-1) ?? '';
      hashes.set(merge, (hashes.get(merge) ?? new Set()).add(hashOf(join(root, name))));
    }
  }
  expect([...hashes.keys()].sort()).toEqual([
    'analysis',
    'float8_e4m3fnsoup',
    'float8_e4m3fnswap',
    'soup',
    'swap',
  ]);
  for (const [merge, different] of hashes) expect([merge, different.size]).toEqual([merge, 1]);
}, 240_000);
