import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { planMerge, relayout } from '../../src/index.js';
import {
  type CheckpointFixture,
  llama,
  type TensorFixture,
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

describe('the width of packed rows by channels', () => {
  const shape = (rows: number, columns: number): TensorFixture => ({
    dtype: 'I64',
    shape: [2],
    data: new Uint8Array(BigInt64Array.of(BigInt(rows), BigInt(columns)).buffer),
  });
  const data = Uint8Array.from({ length: 16 * 20 }, (_, index) => (index * 37) % 256);
  const byChannels = (weight_shape: TensorFixture | undefined): CheckpointFixture => {
    const { tensors, config } = quantisedLlama('int4 of compressed-tensors by groups');
    const { [`${module}.weight_shape`]: _, ...rest } = tensors;
    return {
      tensors: {
        ...rest,
        [`${module}.weight_packed`]: { dtype: 'I32', shape: [16, 5], data },
        [`${module}.weight_scale`]: { dtype: 'F32', shape: [16, 1], data: encode('F32', Array(16).fill(1)) },
        ...(weight_shape === undefined ? {} : { [`${module}.weight_shape`]: weight_shape }),
      },
      config,
    };
  };

  it.each([40, 36, 33])('is the one of weight_shape: %i', async (width) => {
    const out = join(temporaryDirectory(), 'out');
    const [model = ''] = written(byChannels(shape(16, width)));
    await relayout({ model, dtype: 'float32' }, { out });
    const codes = [...data].flatMap((byte) => [byte & 15, byte >> 4]);
    const kept = codes.flatMap((code, index) => (index % 40 < width ? [code - 8] : []));
    expect((await readTensors(out))[`${module}.weight`]).toEqual({
      dtype: 'F32',
      shape: [16, width],
      data: Buffer.from(encode('F32', kept)),
    });
  });

  it.each([
    ['is missing', undefined, 'weight_packed'],
    ['says fewer words', shape(16, 32), 'weight_shape'],
    ['says more words', shape(16, 41), 'weight_shape'],
    ['says other rows', shape(15, 36), 'weight_shape'],
    ['is in other numbers', { ...shape(16, 36), dtype: 'I32', shape: [4] } as const, 'weight_shape'],
  ])('is refused where weight_shape %s', async (_, weight_shape, part) => {
    const [model = ''] = written(byChannels(weight_shape));
    await expect(planMerge({ method: 'relayout', model })).rejects.toMatchObject({
      code: 'QUANTISATION_INVALID',
      details: { tensor: `${module}.${part}` },
    });
  });
});

describe('dynamic settings of GPTQ, without the groups of columns', () => {
  // 40 features in 3 groups are 16, 16 and 8.
  const dynamic = (sizes: readonly number[], withGroups = false): CheckpointFixture => {
    const { tensors, config } = withSettings('GPTQ of 8 bits, version 2', {
      group_size: -1,
      dynamic: Object.fromEntries(sizes.map((group_size, at) => [`+:.*${at}`, { group_size }])),
    });
    const ones = encode(
      'F16',
      [1, 2, 3].flatMap((scale) => Array(16).fill(scale) as number[]),
    );
    const groups = Int32Array.from({ length: 40 }, (_, feature) => feature >> 4);
    return {
      tensors: {
        ...tensors,
        [`${module}.scales`]: { dtype: 'F16', shape: [3, 16], data: ones },
        [`${module}.qzeros`]: { dtype: 'I32', shape: [3, 4], data: new Uint8Array(48) },
        [`${module}.qweight`]: { dtype: 'I32', shape: [10, 16], data: new Uint8Array(640).fill(1) },
        ...(withGroups
          ? {
              [`${module}.g_idx`]: {
                dtype: 'I32',
                shape: [40],
                data: new Uint8Array(groups.buffer),
              } as const,
            }
          : {}),
      },
      config,
    };
  };

  it.each([
    ['one size fits', dynamic([16, 128])],
    ['groups are stored', dynamic([16, 15, 128], true)],
  ])('are read where %s', async (_, fixture) => {
    const out = join(temporaryDirectory(), 'out');
    const [model = ''] = written(fixture);
    await relayout({ model, dtype: 'float32' }, { out });
    const row = Array.from({ length: 40 }, (_, feature) => (feature >> 4) + 1);
    expect((await readTensors(out))[`${module}.weight`]?.data).toEqual(
      Buffer.from(encode('F32', Array.from({ length: 16 }, () => row).flat())),
    );
  });

  it.each([
    ['no size fits', [32]],
    ['two sizes fit', [16, 15]],
  ])('allow copies only where %s', async (_, sizes) => {
    await expect(soupOf(dynamic(sizes), dynamic(sizes))).rejects.toMatchObject({ code: 'QUANTISED_WEIGHTS' });
    await expect(swapOf(dynamic(sizes), dynamic(sizes))).resolves.toBeDefined();
  });
});

it('that rotate a model of GPTQ allow copies only, and none between random rotations', async () => {
  const of = (rotation: string | null, seed = 1) =>
    withSettings('GPTQ of 8 bits, version 2', { rotation }, seed);
  await expect(soupOf(of('hadamard'), of('hadamard', 2))).rejects.toMatchObject({
    code: 'QUANTISED_WEIGHTS',
  });
  await expect(swapOf(of('hadamard'), of('hadamard', 2))).resolves.toBeDefined();
  await expect(soupOf(of(null), of(null, 2))).resolves.toBeDefined();
  for (const other of [of('random', 2), of('hadamard', 2)])
    await expect(swapOf(of('random'), other)).rejects.toMatchObject({ code: 'CONFIG_MISMATCH' });
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

  const stacked = async (settings: object) => {
    const [a = ''] = written(withSettings('FP8 in blocks', { ...quip, ...settings }));
    const slice = (from: number, to: number) => ({
      sources: [{ model: a, layerRange: [from, to] as [number, number] }],
    });
    return await planMerge({ method: 'passthrough', slices: [slice(0, 3), slice(2, 5)] });
  };

  it.each<[string, object]>([
    ['by paths', { modules_to_not_convert: ['model.layers.1.mlp'] }],
    ['by patterns', { ignore: ['re:.*[.]1[.]mlp.*'] }],
    ['by patterns of digits', { ignore: [String.raw`re:.*\.\d\.mlp.*`] }],
    ['by patterns of characters', { ignore: ['re:.*.[0-1].mlp.*'] }],
    ['in keys', { dynamic: { '-:.*1.mlp.*': {} } }],
  ])('is not stacked where its settings name layers %s', async (_, settings) => {
    await expect(stacked(settings)).rejects.toMatchObject({ code: 'QUANTISED_WEIGHTS' });
  });

  it('is stacked where its settings name no layers', async () => {
    const groups = { config_groups: { group_0: { targets: ['Linear', 're:.*self_attn.*'] } } };
    const settings = { modules_to_not_convert: ['lm_head'], version: '0.8.1', dtype: 'e4m3', ...groups };
    await expect(stacked(settings)).resolves.toBeDefined();
  });
});
