import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { planMerge, soup } from '../../src/index.js';
import {
  type CheckpointFixture,
  type TensorFixture,
  temporaryDirectory,
  writeCheckpoint,
} from '../fixtures/checkpoints.js';
import { mixtureConfig, separateMixture } from '../fixtures/mixtures.js';
import { encode } from '../fixtures/numbers.js';
import { quantisedLlama } from '../fixtures/quantised.js';

// Strangers' quantised checkpoints: a message for each that names file, tensor and remedy.

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

const quantisedMixture = (): CheckpointFixture => {
  const tensors = Object.entries(separateMixture()).flatMap(([name, tensor]) => {
    if (!name.includes('.experts.')) return [[name, tensor] as const];
    const [rows = 1, columns = 1] = tensor.shape;
    const codes = { dtype: 'I8', shape: tensor.shape, data: Buffer.alloc(rows * columns, 3) };
    return [[name, codes] as const, [`${name}_scale`, floats([rows, 1])] as const];
  });
  const weights = { num_bits: 8, type: 'int', strategy: 'channel', symmetric: true };
  const quantization_config = {
    quant_method: 'compressed-tensors',
    format: 'int-quantized',
    config_groups: { group_0: { targets: ['Linear'], weights } },
  };
  return { tensors: Object.fromEntries(tensors), config: { ...mixtureConfig(), quantization_config } };
};

const planned = (fixture: CheckpointFixture) =>
  planMerge({ method: 'relayout', model: writeCheckpoint(join(temporaryDirectory(), 'm'), fixture) });

const experts = (change: Readonly<Record<string, TensorFixture | undefined>>): CheckpointFixture => {
  const { tensors, config } = quantisedLlama('MXFP4 of experts');
  const all = Object.entries({ ...tensors, ...change }).flatMap(([name, tensor]) =>
    tensor === undefined ? [] : [[name, tensor] as const],
  );
  return { tensors: Object.fromEntries(all), config };
};

const inExperts = 'model.layers.1.mlp.experts.gate_up_proj';

const nvfp4 = (change: Readonly<Record<string, TensorFixture | undefined>>): CheckpointFixture => {
  const { tensors, config } = quantisedLlama('NVFP4 of ModelOpt');
  const all = Object.entries({ ...tensors, ...change }).flatMap(([name, tensor]) =>
    tensor === undefined ? [] : [[name, tensor] as const],
  );
  return { tensors: Object.fromEntries(all), config };
};

describe('models of ModelOpt', () => {
  it.each<[string, CheckpointFixture, string, RegExp]>([
    [
      'without the factor of their scales',
      nvfp4({ [`${module}.weight_scale_2`]: undefined }),
      `${module}.weight`,
      /weight_scale_2 is missing/,
    ],
    [
      'with scales alone',
      nvfp4({ [`${module}.weight`]: undefined }),
      `${module}.weight_scale`,
      /weight is missing/,
    ],
    [
      'with scales of other blocks',
      nvfp4({ [`${module}.weight_scale`]: floats([16, 7]) }),
      `${module}.weight_scale`,
      /in blocks of 8 or 16 need others/,
    ],
    [
      'with a factor for each row',
      nvfp4({ [`${module}.weight_scale_2`]: floats([16]) }),
      `${module}.weight_scale_2`,
      /must be one number of F32/,
    ],
  ])('are refused %s', async (_, fixture, tensor, reason) => {
    await expect(planned(fixture)).rejects.toMatchObject({
      code: 'QUANTISATION_INVALID',
      details: { tensor, reason: expect.stringMatching(reason) },
    });
  });

  it('are copied where a module scales its inputs, and not computed with', async () => {
    const scaled = nvfp4({ [`${module}.pre_quant_scale`]: floats([16]) });
    const models = ['a', 'b'].map((name) => writeCheckpoint(join(temporaryDirectory(), name), scaled));
    await expect(planMerge({ method: 'soup', models })).rejects.toMatchObject({
      code: 'QUANTISED_WEIGHTS',
    });
  });

  it('are not said to be quantised beside config.json', async () => {
    const model = writeCheckpoint(join(temporaryDirectory(), 'm'), nvfp4({}));
    writeFileSync(join(model, 'hf_quant_config.json'), '{"quantization": {"quant_algo": "NVFP4"}}');
    for (const dtype of [{ dtype: 'bfloat16' }, {}] as const) {
      const { files } = await planMerge({ method: 'relayout', model, ...dtype });
      expect(JSON.stringify(files)).not.toContain('hf_quant_config');
    }
  });
});

it('models of GPTQ are not said to be quantised beside config.json, once they are not', async () => {
  const scheme = 'GPTQ of 8 bits, version 2';
  const model = writeCheckpoint(join(temporaryDirectory(), 'm'), quantisedLlama(scheme));
  writeFileSync(join(model, 'quantize_config.json'), '{"bits": 8, "group_size": -1}');
  const namesIn = async (recipe: object) =>
    (await planMerge({ method: 'relayout', model, ...recipe })).files.map(({ name }) => name);
  expect(await namesIn({ dtype: 'bfloat16' })).not.toContain('quantize_config.json');
  expect(await namesIn({})).toContain('quantize_config.json');
});

describe('experts in MXFP4 are refused', () => {
  const bytes = (shape: readonly number[]): TensorFixture => ({
    dtype: 'U8',
    shape,
    data: new Uint8Array(shape.reduce((product, extent) => product * extent, 1)),
  });

  it.each<[string, CheckpointFixture, string, RegExp]>([
    ['without scales', experts({ [`${inExperts}_scales`]: undefined }), `${inExperts}_blocks`, /is missing/],
    ['without codes', experts({ [`${inExperts}_blocks`]: undefined }), `${inExperts}_scales`, /is missing/],
    [
      'with other blocks',
      experts({ [`${inExperts}_scales`]: bytes([2, 6, 3]) }),
      `${inExperts}_scales`,
      /needs U8/,
    ],
    [
      'with blocks of other bytes',
      experts({ [`${inExperts}_blocks`]: bytes([2, 6, 2, 8]) }),
      `${inExperts}_blocks`,
      /needs U8/,
    ],
  ])('%s', async (_, fixture, tensor, reason) => {
    await expect(planned(fixture)).rejects.toMatchObject({
      code: 'QUANTISATION_INVALID',
      details: { tensor, reason: expect.stringMatching(reason) as string },
    });
  });
});

describe('modules of compressed-tensors', () => {
  it('without scales are refused', async () => {
    const { tensors, config } = quantisedLlama('int4 of compressed-tensors by groups');
    const { [`${module}.weight_scale`]: _, ...rest } = tensors;
    await expect(planned({ tensors: rest, config })).rejects.toMatchObject({
      code: 'QUANTISATION_INVALID',
      details: { tensor: `${module}.weight_packed` },
    });
  });
});

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
      'with the scales of its transpose',
      changed({ [scale]: floats([8, 3]) }),
      scale,
      /has the shape \[8, 3\].* need \[3, 8\]/,
    ],
    ['with as many scales in a row', changed({ [scale]: floats([24]) }), scale, /has the shape \[24\]/],
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
      message: expect.stringContaining('quantise the model again') as string,
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

  it('by a scheme that is not read, beside one that has other tensors', async () => {
    const root = temporaryDirectory();
    const { tensors, config } = quantisedLlama('FP8 in blocks');
    const unknown = changed({}, { quant_method: 'quip' });
    const models = [unknown, { tensors, config }].map((fixture, index) =>
      writeCheckpoint(join(root, `m${index}`), fixture),
    );
    await expect(planMerge({ method: 'soup', models })).rejects.toMatchObject({
      code: 'QUANTISED_WEIGHTS',
      details: { model: models[0] },
    });
  });

  it('where its experts are to be fused', async () => {
    const model = writeCheckpoint(join(temporaryDirectory(), 'm'), quantisedMixture());
    await expect(planMerge({ method: 'relayout', model, experts: 'fused' })).rejects.toThrow(
      'separate, since model.layers.0.mlp.experts.0.gate_proj.weight_scale belongs to one expert',
    );
  });
});
