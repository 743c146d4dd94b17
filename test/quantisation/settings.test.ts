import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { planMerge, relayout } from '../../src/index.js';
import {
  type CheckpointFixture,
  llama,
  temporaryDirectory,
  writeCheckpoint,
} from '../fixtures/checkpoints.js';
import { readTensors } from '../fixtures/merged.js';
import { encode } from '../fixtures/numbers.js';
import { quantisedLlama, type SchemeName } from '../fixtures/quantised.js';

// Settings that decide how stored codes are read, or whether they can be.

const module = 'model.layers.3.mlp.down_proj';

const withSettings = (scheme: SchemeName, settings: object, seed = 1): CheckpointFixture => {
  const { tensors, config } = quantisedLlama(scheme, { seed });
  const quantization_config = { ...(config?.['quantization_config'] as object), ...settings };
  return { tensors, config: { ...config, quantization_config } };
};

const written = (...fixtures: readonly CheckpointFixture[]): readonly string[] => {
  const root = temporaryDirectory();
  return fixtures.map((fixture, index) => writeCheckpoint(join(root, `m${index}`), fixture));
};

const soupOf = async (...fixtures: readonly CheckpointFixture[]) =>
  await planMerge({ method: 'soup', models: [...written(...fixtures)] });

const swapOf = async (...fixtures: readonly CheckpointFixture[]) => {
  const [task = '', language = ''] = written(...fixtures);
  return await planMerge({ method: 'layer_swap', task, language, bottom: 1, top: 1, others: 'task' });
};

describe('settings of compressed-tensors', () => {
  const scheme = 'int4 of compressed-tensors by groups';

  it.each([
    [4, 8],
    [8, 4],
    [16, 8],
  ])('that have groups of %i and of %i are read by the stored scales', async (...sizes) => {
    const out = join(temporaryDirectory(), 'out');
    const config_groups = Object.fromEntries(
      sizes.map((group_size, at) => [`g${at}`, { weights: { num_bits: 4, type: 'int', group_size } }]),
    );
    const [model = ''] = written(withSettings(scheme, { config_groups }));
    await relayout({ model, dtype: 'float32' }, { out });
    const made = await readTensors(out);
    for (const [name, numbers] of quantisedLlama(scheme).values)
      expect([name, Buffer.from(made[name]?.data ?? [])]).toEqual([
        name,
        Buffer.from(encode('F32', numbers)),
      ]);
  });

  it('that rotate inputs when the model is loaded allow copies only', async () => {
    const apply = [{ targets: ['re:.*down_proj$'], location: 'input' }];
    const transform_config = { config_groups: { R4: { type: 'hadamard', apply } } };
    const [a, b] = [1, 2].map((seed) => withSettings(scheme, { transform_config }, seed));
    if (a === undefined || b === undefined) throw new Error('two fixtures');
    await expect(soupOf(a, b)).rejects.toMatchObject({ code: 'QUANTISED_WEIGHTS' });
    await expect(swapOf(a, b)).resolves.toBeDefined();
    const none = withSettings(scheme, { transform_config: { config_groups: {} } });
    await expect(soupOf(none, none)).resolves.toBeDefined();
  });
});

it('in which GPTQ orders columns by activation need the groups of columns', async () => {
  const { tensors, config } = withSettings('GPTQ of 4 bits in any order', {});
  const { [`${module}.g_idx`]: _, ...rest } = tensors;
  await expect(soupOf({ tensors: rest, config })).rejects.toMatchObject({
    code: 'QUANTISATION_INVALID',
    details: { tensor: `${module}.qweight`, reason: expect.stringContaining('g_idx is missing') as string },
  });
});

it('are of AWQ, and an activation with scales allows copies only', async () => {
  const { tensors, config } = withSettings('AWQ', {});
  const scales = { dtype: 'F16', shape: [40], data: new Uint8Array(80) } as const;
  const fixture = { tensors: { ...tensors, 'model.layers.3.mlp.act.scales': scales }, config };
  await expect(soupOf(fixture, fixture)).rejects.toMatchObject({ code: 'QUANTISED_WEIGHTS' });
});

describe('a scheme that is not read', () => {
  const quip = { quant_method: 'quip' };

  it('is copied only beside the same settings, apart from lists and calibration', async () => {
    const scheme = 'GPTQ of 4 bits in any order';
    const of = (settings: object) => withSettings(scheme, { bits: 3, ...settings });
    await expect(swapOf(of({}), of({ checkpoint_format: 'gptq_v2' }))).rejects.toMatchObject({
      code: 'CONFIG_MISMATCH',
      message: expect.stringContaining('gptq_v2') as string,
    });
    await expect(swapOf(of({}), of({ damp_percent: 0.1 }))).resolves.toBeDefined();
    const { tensors, config: { quantization_config: _, ...config } = {} } = of({});
    await expect(swapOf(of({}), { tensors, config })).rejects.toMatchObject({ code: 'CONFIG_MISMATCH' });
  });

  it('has codes by dtype, whatever its names', async () => {
    const of = (seed: number): CheckpointFixture => {
      const { tensors, config } = withSettings('FP8 by channels', quip, seed);
      const other = (name: string) => name.replace(/weight_scale$/, 'weight._factors');
      return {
        tensors: Object.fromEntries(Object.entries(tensors).map(([name, tensor]) => [other(name), tensor])),
        config,
      };
    };
    await expect(soupOf(of(1), of(2))).rejects.toMatchObject({ code: 'QUANTISED_WEIGHTS' });
    await expect(swapOf(of(1), of(2))).resolves.toBeDefined();
  });

  it('of a model without codes says nothing about its matrices', async () => {
    const { tensors, config } = llama({ layers: 5 });
    const positions = { dtype: 'I64', shape: [1, 4], data: new Uint8Array(32) } as const;
    const fixture = {
      tensors: { ...tensors, 'model.position_ids': positions },
      config: { ...config, quantization_config: { quant_method: 'bitsandbytes', load_in_4bit: true } },
    };
    await expect(soupOf(fixture, fixture)).resolves.toBeDefined();
  });

  it('is not stacked where its settings name layers', async () => {
    const stacked = async (settings: object) => {
      const [a = ''] = written(withSettings('FP8 in blocks', { ...quip, ...settings }));
      const slice = (from: number, to: number) => ({
        sources: [{ model: a, layerRange: [from, to] as [number, number] }],
      });
      return await planMerge({ method: 'passthrough', slices: [slice(0, 3), slice(2, 5)] });
    };
    await expect(stacked({ modules_to_not_convert: ['model.layers.1.mlp'] })).rejects.toMatchObject({
      code: 'QUANTISED_WEIGHTS',
    });
    await expect(stacked({ modules_to_not_convert: ['lm_head'] })).resolves.toBeDefined();
  });
});
