import { execFile, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { experimentPreset, planExperiment, runExperiment } from '../../src/index.js';
import {
  fill,
  llamaConfig,
  llamaShapes,
  type Tensors,
  temporaryDirectory,
  writeCheckpoint,
} from '../fixtures/checkpoints.js';
import { decode, encode, type Floating, generator } from '../fixtures/numbers.js';

// Float32 checkpoints, as full fine-tuning writes them, of the hub's bfloat16 base: every merge of whole
// presets equals study.py's from the same files.

const { LAYERLOOM_PYTHON: python = '' } = process.env;
const hasNumpy = python !== '' && spawnSync(python, ['-c', 'import numpy']).status === 0;
const script = fileURLToPath(new URL('study.py', import.meta.url));

/** The presets' largest configuration needs one layer less (5 + 2 + 2 + 2). */
const options = { layers: 12, hidden: 16 };

/** An expert's numbers: the base's, widened, with small changes of the expert's own size. */
const tuned = (base: Tensors, seed: number): Tensors => {
  const random = generator(seed);
  return Object.fromEntries(
    Object.entries(base).map(([name, { dtype, shape, data }]) => {
      const size = 1e-4 * (1 + (seed % 5)) * (0.2 + random());
      const values = decode(dtype as Floating, data).map((value) => value + (random() - 0.5) * size);
      return [name, { dtype: 'F32', shape, data: encode('F32', values) }];
    }),
  );
};

const writeStudy = (preset: 'paper' | 'sparsify', dtype: string | undefined) => {
  const root = temporaryDirectory();
  const base = fill(llamaShapes(options), 'BF16', 1);
  writeCheckpoint(join(root, 'base'), { tensors: base, config: llamaConfig({ ...options, dtype: 'BF16' }) });
  const write = (...names: string[]) =>
    Object.fromEntries(
      names.map((name, index) => [
        name,
        writeCheckpoint(join(root, name), {
          tensors: tuned(base, name.charCodeAt(0) + index),
          config: llamaConfig({ ...options, dtype: 'F32' }),
        }),
      ]),
    );
  const tasks = write('math-1', 'math-2');
  const languages = { swahili: write('swh-1', 'swh-2'), telugu: write('tel-1') };
  const file = join(root, 'study.yaml');
  const text = experimentPreset(preset, { base: join(root, 'base'), tasks, languages });
  writeFileSync(file, dtype === undefined ? text : `${text}\ndtype: ${dtype}\n`);
  return { root, file, experts: { ...tasks, ...languages.swahili, ...languages.telugu } };
};

describe.skipIf(!hasNumpy)('NumPy (LAYERLOOM_PYTHON with numpy)', () => {
  it.each([
    ['paper', undefined],
    ['paper', 'bfloat16'],
    ['sparsify', undefined],
    ['sparsify', 'bfloat16'],
  ] as const)(
    'computes every merge of the preset %s over float32 experts of a bfloat16 base, with dtype %s',
    async (preset, dtype) => {
      const { root, file, experts } = writeStudy(preset, dtype);
      const out = join(root, 'out');
      expect((await planExperiment(file, {})).plan.refused).toEqual([]);
      const { merges } = await runExperiment(file, { out });
      expect(merges.filter(({ state }) => state !== 'done')).toEqual([]);
      const { stdout } = await promisify(execFile)(python, [
        script,
        out,
        join(root, 'base'),
        JSON.stringify(experts),
      ]).catch(({ stdout, stderr }: { stdout: string; stderr: string }) =>
        expect.fail(`${stdout}\n${stderr}`),
      );
      process.stdout.write(`${preset} ${dtype ?? ''}\n${stdout}`);
      expect(stdout).toContain(dtype === undefined ? 'F32' : 'BF16');
    },
  );
});
