import { join } from 'node:path';
import { expect, it } from 'vitest';
import { merge, type RecipeInput } from '../../src/index.js';
import { temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';
import { readTensors } from '../fixtures/merged.js';

/** Thresholds of tensors of this size start from a sample. */
const size = 2 ** 20;
const name = 'model.layers.0.mlp.up_proj.weight';

it('ties keeps all changes of large tensors of which most elements are unchanged', async () => {
  const root = temporaryDirectory();
  const models = [0, size / 16, 0].map((changed, index) => {
    const values = Float32Array.from({ length: size }, (_, i) => (i < changed ? 8 + (i % 4096) : 4));
    const tensors = { [name]: { dtype: 'F32' as const, shape: [size], data: Buffer.from(values.buffer) } };
    return { tensors, path: writeCheckpoint(join(root, `model-${index}`), { tensors }) };
  });
  const [base, ...experts] = models.map(({ path }) => path);
  const out = join(root, 'out');
  await merge({ method: 'ties', base, models: experts, weight: 1, density: 0.5 } as RecipeInput, { out });
  const merged = Buffer.from((await readTensors(out))[name]?.data ?? []);
  expect(merged.equals(models[1]?.tensors[name]?.data ?? Buffer.of())).toBe(true);
});
