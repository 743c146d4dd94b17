import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { planMerge, relayout, soup } from '../../src/index.js';
import {
  type CheckpointFixture,
  type TensorFixture,
  temporaryDirectory,
  writeCheckpoint,
} from '../fixtures/checkpoints.js';
import { readTensors } from '../fixtures/merged.js';
import { encode } from '../fixtures/numbers.js';
import { quantisedLlama, type SchemeName } from '../fixtures/quantised.js';

// Strangers' models of GPTQ, AWQ, bitsandbytes and asymmetric compressed-tensors: a message for each. In all
// of them the module below has 40 inputs and 16 outputs.

const module = 'model.layers.3.mlp.down_proj';

type Change = Readonly<Record<string, TensorFixture | undefined>>;

const changed = (scheme: SchemeName, change: Change, settings: object = {}): CheckpointFixture => {
  const { tensors, config } = quantisedLlama(scheme);
  const other = Object.entries(change).map(([part, tensor]) => [`${module}.${part}`, tensor] as const);
  const all = Object.entries({ ...tensors, ...Object.fromEntries(other) }).flatMap(([name, tensor]) =>
    tensor === undefined ? [] : [[name, tensor] as const],
  );
  const quantization_config = { ...(config?.['quantization_config'] as object), ...settings };
  return { tensors: Object.fromEntries(all), config: { ...config, quantization_config } };
};

const zeros = (dtype: 'I32' | 'I8' | 'U8' | 'F16' | 'F32', shape: readonly number[]): TensorFixture => {
  const bytes = { I32: 4, I8: 1, U8: 1, F16: 2, F32: 4 }[dtype];
  return { dtype, shape, data: new Uint8Array(shape.reduce((product, extent) => product * extent, bytes)) };
};

const floats = (dtype: 'F16' | 'F32', shape: readonly number[], value: number): TensorFixture => ({
  dtype,
  shape,
  data: encode(dtype, Array(shape.reduce((a, b) => a * b, 1)).fill(value) as number[]),
});

const text = (value: string): TensorFixture => {
  const data = new TextEncoder().encode(value);
  return { dtype: 'U8', shape: [data.length], data };
};

const planned = (fixture: CheckpointFixture) =>
  planMerge({ method: 'relayout', model: writeCheckpoint(join(temporaryDirectory(), 'm'), fixture) });

const isRefused = async (fixture: CheckpointFixture, part: string, reason: RegExp) =>
  await expect(planned(fixture)).rejects.toMatchObject({
    code: 'QUANTISATION_INVALID',
    exitCode: 3,
    details: {
      tensor: `${module}.${part}`,
      reason: expect.stringMatching(reason) as string,
      file: expect.stringMatching(/\/m\/model\.safetensors$/) as string,
    },
  });

/** Expects a merge of two models to report the NaN in the first. */
const isNonFinite = async (poisoned: CheckpointFixture, scheme: SchemeName, index: readonly number[]) => {
  const root = temporaryDirectory();
  const models = [poisoned, quantisedLlama(scheme, { seed: 2 })].map((fixture, at) =>
    writeCheckpoint(join(root, String(at)), fixture),
  );
  await expect(soup({ models }, { out: join(root, 'out') })).rejects.toMatchObject({
    code: 'NON_FINITE',
    details: {
      tensors: [{ tensor: `${module}.weight`, index, file: join(root, '0', 'model.safetensors') }],
    },
  });
};

const isCopiedOnly = async (fixture: CheckpointFixture) => {
  await expect(planned(fixture)).resolves.toBeDefined();
  const root = temporaryDirectory();
  const models = ['a', 'b'].map((name) => writeCheckpoint(join(root, name), fixture));
  await expect(planMerge({ method: 'soup', models })).rejects.toMatchObject({ code: 'QUANTISED_WEIGHTS' });
};

describe('a model of GPTQ', () => {
  const scheme = 'GPTQ of 4 bits in any order';

  it.each<[string, Change, string, RegExp]>([
    ['without scales', { scales: undefined }, 'qweight', /scales is missing/],
    ['without zero points', { qzeros: undefined }, 'qweight', /qzeros is missing/],
    ['without codes', { qweight: undefined }, 'qzeros', /qweight is missing/],
    ['with codes of other words', { qweight: zeros('F16', [5, 16]) }, 'qweight', /is F16 \[5, 16\]/],
    ['with codes of one dimension', { qweight: zeros('I32', [80]) }, 'qweight', /must be a matrix of I32/],
    ['without a row of words', { qweight: zeros('I32', [0, 16]) }, 'qweight', /must be a matrix of I32/],
    ['with too few scales', { scales: zeros('F16', [4, 16]) }, 'scales', /need \[5, 16\]/],
    ['with scales of its transpose', { scales: zeros('F16', [16, 5]) }, 'scales', /need \[5, 16\]/],
    ['with scales of integers', { scales: zeros('I32', [5, 16]) }, 'scales', /is of I32/],
    ['with too few zero points', { qzeros: zeros('I32', [4, 2]) }, 'qzeros', /must be 5 × 16 zero points/],
    ['with zero points of fewer outputs', { qzeros: zeros('I32', [10, 1]) }, 'qzeros', /5 × 16 zero points/],
    ['with groups of fewer features', { g_idx: zeros('I32', [39]) }, 'g_idx', /must be 40 numbers of I32/],
    ['with groups that are bytes', { g_idx: zeros('U8', [160]) }, 'g_idx', /must be 40 numbers of I32/],
  ])('is refused %s', async (_, change, part, reason) => {
    await isRefused(changed(scheme, change), part, reason);
  });

  it('is refused with groups of another size than config.json says', async () => {
    await expect(planned(changed(scheme, {}, { group_size: 16 }))).rejects.toMatchObject({
      code: 'QUANTISATION_INVALID',
      message: expect.stringMatching(
        /q_proj\.scales has the shape \[2, 16\].* in blocks of 16 × 1 need \[1, 16\]/,
      ) as string,
    });
  });

  it.each([
    ['beyond the last', 5],
    ['before the first', -1],
    ['far away', 0x7fffffff],
  ])('ends a merge with NON_FINITE where a feature is in a group %s', async (_, group) => {
    const groups = Int32Array.from({ length: 40 }, (_, feature) => (feature === 7 ? group : feature >> 3));
    const g_idx: TensorFixture = { dtype: 'I32', shape: [40], data: new Uint8Array(groups.buffer) };
    await isNonFinite(changed(scheme, { g_idx }), scheme, [0, 7]);
  });

  it('ends a merge with NON_FINITE where a scale is none', async () => {
    await isNonFinite(changed(scheme, { scales: floats('F16', [5, 16], Number.NaN) }), scheme, [0, 0]);
  });

  it.each([
    ['of three bits', { bits: 3 }],
    ['of no number of bits', { bits: 'four' }],
    ['in the format of one kernel', { checkpoint_format: 'marlin' }],
  ])('is copied only where it is %s', async (_, settings) => {
    await isCopiedOnly(changed(scheme, {}, settings));
  });

  it('is copied only where its modules have their matrices the other way round', async () => {
    const { tensors, config } = quantisedLlama(scheme);
    await isCopiedOnly({ tensors, config: { ...config, model_type: 'gpt2' } });
  });

  it('has the bits and groups of each module where settings are dynamic', async () => {
    const root = temporaryDirectory();
    const [four, eight] = [quantisedLlama(scheme), quantisedLlama('GPTQ of 8 bits, version 2')];
    const ofModule = Object.entries(eight.tensors).filter(([name]) => name.startsWith(`${module}.`));
    const kept = Object.entries(four.tensors).filter(([name]) => !name.startsWith(`${module}.`));
    const settings = four.config?.['quantization_config'] as object;
    const dynamic = { '+:.*3.mlp.down_proj': { bits: 8, group_size: -1 } };
    const model = writeCheckpoint(join(root, 'm'), {
      tensors: Object.fromEntries([...kept, ...ofModule]),
      config: {
        ...four.config,
        quantization_config: { ...settings, checkpoint_format: 'gptq_v2', dynamic },
      },
    });
    await relayout({ model, dtype: 'float32' }, { out: join(root, 'out') });
    const written = await readTensors(join(root, 'out'));
    const values = encode('F32', eight.values.get(`${module}.weight`) ?? []);
    expect(written[`${module}.weight`]).toEqual({ dtype: 'F32', shape: [16, 40], data: Buffer.from(values) });
    expect(written['model.layers.3.mlp.gate_proj.weight']).toMatchObject({ dtype: 'F32', shape: [40, 16] });
  });
});

describe('a model of AWQ', () => {
  it.each<[string, Change, string, RegExp]>([
    ['without scales', { scales: undefined }, 'qweight', /scales is missing/],
    ['without zero points', { qzeros: undefined }, 'qweight', /qzeros is missing/],
    ['with codes of another dtype', { qweight: zeros('F32', [40, 2]) }, 'qweight', /is F32/],
    ['with scales of fewer groups', { scales: zeros('F16', [4, 16]) }, 'scales', /need \[5, 16\]/],
    ['with zero points of fewer groups', { qzeros: zeros('I32', [4, 2]) }, 'qzeros', /5 × 16 zero points/],
  ])('is refused %s', async (_, change, part, reason) => {
    await isRefused(changed('AWQ', change), part, reason);
  });

  it('ends a merge with NON_FINITE where a scale is infinite', async () => {
    const scales = floats('F16', [5, 16], Number.POSITIVE_INFINITY);
    await isNonFinite(changed('AWQ', { scales }), 'AWQ', [0, 0]);
  });

  it.each([
    ['of another version', { version: 'gemv' }],
    ['of eight bits', { bits: 8 }],
  ])('is copied only where it is %s', async (_, settings) => {
    await isCopiedOnly(changed('AWQ', {}, settings));
  });
});

describe('a model of bitsandbytes', () => {
  const scheme = 'NF4 of bitsandbytes with nested scales';
  const name = 'weight.quant_state.bitsandbytes__nf4';
  const good = {
    quant_type: 'nf4',
    blocksize: 24,
    dtype: 'bfloat16',
    shape: [16, 40],
    nested_blocksize: 5,
    nested_dtype: 'float32',
    nested_offset: 0.01,
  };
  const says = (other: object): Change => ({ [name]: text(JSON.stringify({ ...good, ...other })) });

  it('is read where its text says no more than these words', async () => {
    await expect(planned(changed(scheme, says({ more: 1 })))).resolves.toBeDefined();
  });

  it.each<[string, Change, string, RegExp]>([
    ['without its text', { [name]: undefined }, 'weight.absmax', /quant_state\.bitsandbytes__nf4 is missing/],
    ['without codes', { weight: undefined }, name, /weight is missing/],
    ['without scales', { 'weight.absmax': undefined }, 'weight', /absmax is missing/],
    ['without its numbers', { 'weight.quant_map': undefined }, 'weight', /quant_map is missing/],
    ['without scales of scales', { 'weight.nested_absmax': undefined }, 'weight', /nested_absmax is missing/],
    ['without numbers of scales', { 'weight.nested_quant_map': undefined }, 'weight', /nested_quant_map is/],
    ['with too few scales', { 'weight.absmax': zeros('U8', [26]) }, 'weight.absmax', /need \[1, 27\]/],
    ['with nested scales of floats', { 'weight.absmax': zeros('F32', [27]) }, 'weight.absmax', /is of F32/],
    [
      'with fewer numbers of scales',
      { 'weight.nested_quant_map': zeros('F32', [16]) },
      'weight.nested_quant_map',
      /must be 256 numbers of F32/,
    ],
    [
      'with too few scales of scales',
      { 'weight.nested_absmax': zeros('F32', [5]) },
      'weight.nested_absmax',
      /must be 6 numbers of F32/,
    ],
    ['with too few codes', { weight: zeros('U8', [319, 1]) }, 'weight', /another length than its shape/],
    ['with no text', { [name]: zeros('U8', [64]) }, name, /not a valid state of bitsandbytes/],
    ['with bytes that are no text', { [name]: text('\u{1F600}'.slice(0, 1)) }, name, /not a valid state/],
    ['with a text of another kind', { [name]: text('[1, 2]') }, name, /not a valid state/],
    ['with a text that is too long', { [name]: text(' '.repeat(5000)) }, name, /at most 4096 bytes/],
    ['with a text that is empty', { [name]: zeros('U8', [0]) }, name, /at most 4096 bytes/],
    ['with a text of numbers', { [name]: zeros('F32', [16]) }, name, /is F32 \[16\]/],
    ['of a shape beyond all memory', says({ shape: [2 ** 40, 2 ** 40] }), name, /which no tensor has/],
    ['of a huge shape', says({ shape: [2 ** 26, 2 ** 26] }), 'weight', /another length than its shape/],
    ['of no dimensions', says({ shape: [] }), name, /not a valid state of bitsandbytes: shape/],
    ['of a shape without rows', says({ shape: [0, 40] }), name, /not a valid state of bitsandbytes: shape/],
    ['of negative shape', says({ shape: [-16, -40] }), name, /not a valid state of bitsandbytes: shape/],
    ['of a shape of texts', says({ shape: ['16', '40'] }), name, /not a valid state of bitsandbytes: shape/],
    ['of a shape of parts', says({ shape: [16.5, 40] }), name, /not a valid state of bitsandbytes: shape/],
    ['of another type', says({ quant_type: 'fp4' }), name, /says fp4/],
    ['of blocks of nothing', says({ blocksize: 0 }), name, /not a valid state of bitsandbytes: blocksize/],
    ['of blocks of blocks of nothing', says({ nested_blocksize: 0 }), name, /nested_blocksize/],
    ['of an offset that is infinite', says({ nested_offset: 1e300 }), name, /nested_offset/],
    ['of an offset that is a text', says({ nested_offset: '0' }), name, /nested_offset/],
    ['of nested scales in bfloat16', says({ nested_dtype: 'bfloat16' }), name, /nested_dtype/],
    ['without the offset', says({ nested_offset: undefined }), name, /lacks nested_blocksize or nested_offs/],
  ])('in four bits is refused %s', async (_, change, part, reason) => {
    await isRefused(changed(scheme, change), part, reason);
  });

  it('ends a merge with NON_FINITE where a scale of scales is none', async () => {
    const nested_absmax = floats('F32', [6], Number.NaN);
    await isNonFinite(changed(scheme, { 'weight.nested_absmax': nested_absmax }), scheme, [0, 0]);
  });

  it('is copied only where its modules have their matrices the other way round', async () => {
    const { tensors, config } = quantisedLlama(scheme);
    await isCopiedOnly({ tensors, config: { ...config, model_type: 'gpt2' } });
  });

  const eight = 'int8 of bitsandbytes';
  it.each<[string, Change, string, RegExp]>([
    ['without scales', { SCB: undefined }, 'weight', /SCB is missing/],
    ['without codes', { weight: undefined }, 'SCB', /weight is missing/],
    ['with scales of columns', { SCB: zeros('F32', [40]) }, 'SCB', /need \[16, 1\]/],
    ['with scales beside floats', { weight: zeros('F32', [16, 40]) }, 'weight', /is of F32/],
    ['with codes in another order', { weight_format: text('\u0001') }, 'weight_format', /is not 0/],
  ])('in eight bits is refused %s', async (_, change, part, reason) => {
    await isRefused(changed(eight, change), part, reason);
  });

  it('ends a merge with NON_FINITE where a scale of eight bits is none', async () => {
    await isNonFinite(changed(eight, { SCB: floats('F32', [16], Number.NaN) }), eight, [0, 0]);
  });
});

describe('a module of compressed-tensors with zero points', () => {
  const four = 'asymmetric int4 of compressed-tensors in any order';
  const eight = 'asymmetric int8 of compressed-tensors by channels';

  it.each<[string, SchemeName, Change, string, RegExp]>([
    ['without codes', four, { weight_packed: undefined }, 'weight_scale', /weight is missing/],
    ['without scales', four, { weight_scale: undefined }, 'weight_packed', /weight_scale is missing/],
    [
      'of fewer rows',
      four,
      { weight_zero_point: zeros('I32', [1, 5]) },
      'weight_zero_point',
      /is I32 \[1, 5\], and must be 16 × 5 zero points of I32/,
    ],
    ['of floats', eight, { weight_zero_point: zeros('F32', [16, 1]) }, 'weight_zero_point', /of I8/],
    ['of fewer channels', eight, { weight_zero_point: zeros('I8', [15, 1]) }, 'weight_zero_point', /16 × 1/],
    ['and fewer groups', four, { weight_g_idx: zeros('I32', [16]) }, 'weight_g_idx', /40 numbers of I32/],
  ])('is refused %s', async (_, scheme, change, part, reason) => {
    await isRefused(changed(scheme, change), part, reason);
  });

  it('is read with zero points in bytes, as old versions packed them not', async () => {
    const weight_zero_point = zeros('I8', [16, 5]);
    await expect(planned(changed(four, { weight_zero_point }))).resolves.toBeDefined();
  });

  it('ends a merge with NON_FINITE where columns are in no group', async () => {
    const groups = new Uint8Array(Int32Array.from({ length: 40 }, () => -1).buffer);
    const weight_g_idx: TensorFixture = { dtype: 'I32', shape: [40], data: groups };
    await isNonFinite(changed(four, { weight_g_idx }), four, [0, 0]);
  });
});
