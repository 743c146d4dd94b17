import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { planMerge, soup } from '../../src/index.js';
import {
  type CheckpointFixture,
  type TensorFixture,
  temporaryDirectory,
  writeCheckpoint,
} from '../fixtures/checkpoints.js';
import { encode } from '../fixtures/numbers.js';
import { quantisedLlama } from '../fixtures/quantised.js';

// Quantised checkpoints from strangers: one message each, which names file, tensor and remedy.

const module = 'model.layers.3.mlp.down_proj';

const changed = (
  change: Readonly<Record<string, TensorFixture | undefined>>,
  settings: object = {},
): CheckpointFixture => {
  const { tensors, config } = quantisedLlama('FP8 in blocks');
  const merged = Object.entries({ ...tensors, ...change }).flatMap(([name, tensor]) =>
    tensor === undefined ? [] : [[name, tensor] as const],
  );
  const quantization_config = { ...(config?.['quantization_config'] as object), ...settings };
  return { tensors: Object.fromEntries(merged), config: { ...config, quantization_config } };
};

const floats = (shape: readonly number[], value = 1): TensorFixture => {
  const count = shape.reduce((product, extent) => product * extent, 1);
  return { dtype: 'F32', shape, data: encode('F32', Array(count).fill(value) as number[]) };
};

const planned = (fixture: CheckpointFixture) =>
  planMerge({ method: 'relayout', model: writeCheckpoint(join(temporaryDirectory(), 'm'), fixture) });

describe('a quantised model is refused', () => {
  const scale = `${module}.weight_scale_inv`;
  // down_proj is [16, 40]: in blocks of 6 × 5, 3 × 8 scales.
  it.each<[string, CheckpointFixture, string, RegExp]>([
    ['without scales', changed({ [scale]: undefined }), `${module}.weight`, /is missing/],
    ['without codes', changed({ [`${module}.weight`]: undefined }), scale, /is missing/],
    [
      'with scales of a plain tensor',
      changed({ [`${module}.weight`]: floats([16, 40]) }),
      `${module}.weight`,
      /is of F32/,
    ],
    [
      'with too few scales',
      changed({ [scale]: floats([3, 7]) }),
      scale,
      /has the shape \[3, 7\].* need \[3, 8\]/,
    ],
    [
      'with scales of integers',
      changed({ [scale]: { ...floats([3, 8]), dtype: 'I32' } }),
      scale,
      /is of I32/,
    ],
    [
      'with blocks of no rows',
      changed({}, { weight_block_size: [0, 5] }),
      'quantization_config.weight_block_size',
      /two positive integers/,
    ],
    [
      'with blocks that are a text',
      changed({}, { weight_block_size: '128x128' }),
      'quantization_config.weight_block_size',
      /two positive integers/,
    ],
  ])('%s', async (_, fixture, tensor, reason) => {
    await expect(planned(fixture)).rejects.toMatchObject({
      code: 'QUANTISATION_INVALID',
      exitCode: 3,
      details: {
        tensor,
        reason: expect.stringMatching(reason) as string,
        file: expect.stringMatching(/\/m/) as string,
      },
      message: expect.stringContaining('quantise the model anew') as string,
    });
  });

  it.each([Number.NaN, Number.POSITIVE_INFINITY])(
    'with a scale that is %d, once it is computed with',
    async (value) => {
      const root = temporaryDirectory();
      const poisoned = changed({ [scale]: floats([3, 8], value) });
      const models = [poisoned, changed({})].map((fixture, index) =>
        writeCheckpoint(join(root, String(index)), fixture),
      );
      await expect(soup({ models }, { out: join(root, 'out') })).rejects.toMatchObject({
        code: 'NON_FINITE',
        details: {
          tensors: [
            { tensor: `${module}.weight`, index: [0, 0], file: join(root, '0', 'model.safetensors') },
          ],
        },
      });
    },
  );

  it('by a scheme that is not read, once it is computed with', async () => {
    const root = temporaryDirectory();
    const unknown = changed({}, { quant_method: 'quip' });
    const models = [0, 1].map((index) => writeCheckpoint(join(root, String(index)), unknown));
    await expect(
      planMerge({ method: 'soup', models: [`a=${models[0]}`, `b=${models[1]}`] }),
    ).rejects.toMatchObject({
      code: 'QUANTISED_WEIGHTS',
    });
    await expect(planned(unknown)).resolves.toBeDefined();
  });
});
