import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  analyze,
  diff,
  extractLora,
  layerSwap,
  merge,
  openCheckpoint,
  relayout,
  revert,
  soup,
} from '../../src/index.js';
import { type CheckpointFixture, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';
import { encode, type Floating, generator } from '../fixtures/numbers.js';
import {
  mxfp4,
  type QuantisedFixture,
  quantisedLlama,
  type SchemeName,
  schemeNames,
} from '../fixtures/quantised.js';

interface Written {
  readonly config: Readonly<Record<string, unknown>>;
  readonly tensors: ReadonlyMap<string, { readonly dtype: string; readonly data: Uint8Array }>;
}

const read = async (directory: string): Promise<Written> => {
  const { files, tensors } = await openCheckpoint(directory);
  const contents = files.map(({ path }) => readFileSync(path));
  return {
    config: JSON.parse(readFileSync(join(directory, 'config.json'), 'utf8')) as Written['config'],
    tensors: new Map(
      [...tensors].map(([name, { file, begin, end, dtype }]) => [
        name,
        { dtype, data: contents[file]?.subarray(begin, end) ?? new Uint8Array() },
      ]),
    ),
  };
};

const fixtures = new Map<SchemeName, readonly QuantisedFixture[]>();

const experts = (scheme: SchemeName) => {
  const root = temporaryDirectory();
  const made = fixtures.get(scheme) ?? [1, 2, 3].map((seed) => quantisedLlama(scheme, { seed }));
  fixtures.set(scheme, made);
  const paths = made.map((fixture, index) => writeCheckpoint(join(root, `m${index}`), fixture));
  const [base = '', a = '', b = ''] = paths;
  return { root, made, base, a, b, out: join(root, 'out') };
};

const bytesOf = (dtype: Floating, values: readonly number[] = []): string =>
  Buffer.from(encode(dtype, values)).toString('hex');

const hexOf = (found: Written, name: string): string =>
  Buffer.from(found.tensors.get(name)?.data ?? []).toString('hex');

describe.each(schemeNames)('models of %s', (scheme) => {
  it('are read as the float32 of their formula, bit for bit', async () => {
    const { made, a, out } = experts(scheme);
    await relayout({ model: a, dtype: 'float32' }, { out });
    const written = await read(out);
    const values = made[1]?.values ?? new Map();
    expect([...written.tensors.keys()].sort()).toEqual([...values.keys()].sort());
    for (const [name, numbers] of values)
      expect([name, hexOf(written, name)]).toEqual([name, bytesOf('F32', numbers)]);
    expect(written.config).not.toHaveProperty('quantization_config');
  });

  it('are averaged in float32, to a model of bfloat16 that is not quantised', async () => {
    const { made, a, b, out } = experts(scheme);
    await soup({ models: [a, b], weights: [0.75, 0.25] }, { out });
    const written = await read(out);
    expect(written.config).not.toHaveProperty('quantization_config');
    expect(written.config).toMatchObject({ dtype: 'bfloat16' });
    const [, one, other] = made;
    for (const [name, numbers] of one?.values ?? []) {
      const others = other?.values.get(name) ?? [];
      const mean = numbers.map((x, i) =>
        Math.fround(Math.fround(0.75 * x) + Math.fround(0.25 * (others[i] ?? 0))),
      );
      expect([name, written.tensors.get(name)?.dtype]).toEqual([name, 'BF16']);
      expect([name, hexOf(written, name)]).toEqual([name, bytesOf('BF16', mean)]);
    }
  });

  it('are swapped by copies, scales and all, to a model that is quantised like them', async () => {
    const { a, b, out } = experts(scheme);
    await layerSwap({ task: a, language: b, bottom: 1, top: 1 }, { out });
    const [written, task, language] = [await read(out), await read(a), await read(b)];
    expect([...written.tensors.keys()].sort()).toEqual([...task.tensors.keys()].sort());
    const ofLayer = (layer: number) => [...task.tensors.keys()].filter((name) => name.includes(`.${layer}.`));
    for (const name of ofLayer(0))
      expect([name, hexOf(written, name)]).toEqual([name, hexOf(language, name)]);
    for (const name of ofLayer(2)) expect([name, hexOf(written, name)]).toEqual([name, hexOf(task, name)]);
    expect(written.config['quantization_config']).toEqual(task.config['quantization_config']);
  });

  it('are dequantised where one layer is averaged, the copied ones too', async () => {
    const { made, a, b, out } = experts(scheme);
    await layerSwap({ task: a, language: b, bottom: 1, top: 1, topTransition: 1 }, { out });
    const written = await read(out);
    expect(written.config).not.toHaveProperty('quantization_config');
    const name = 'model.layers.1.self_attn.q_proj.weight';
    expect(hexOf(written, name)).toBe(bytesOf('BF16', made[1]?.values.get(name)));
  });

  it('are merged by methods with statistics as the float32 models are', async () => {
    const { root, base, a, b } = experts(scheme);
    const at = (name: string) => join(root, name);
    for (const [name, model] of [
      ['fb', base],
      ['fa', a],
      ['fc', b],
    ] as const)
      await relayout({ model, dtype: 'float32' }, { out: at(name) });
    const shared = { method: 'ties', weight: 1, density: 0.4, dtype: 'bfloat16' } as const;
    await merge({ ...shared, base, models: [a, b] }, { out: at('quantised') });
    await merge({ ...shared, base: at('fb'), models: [at('fa'), at('fc')] }, { out: at('plain') });
    const [quantised, plain] = [await read(at('quantised')), await read(at('plain'))];
    for (const name of plain.tensors.keys())
      expect([name, hexOf(quantised, name)]).toEqual([name, hexOf(plain, name)]);
  });

  it('are analysed, compared, reverted and extracted from as the float32 models are', async () => {
    const { root, base, a } = experts(scheme);
    const at = (name: string) => join(root, name);
    await relayout({ model: base, dtype: 'float32' }, { out: `${at('m0')}-f` });
    await relayout({ model: a, dtype: 'float32' }, { out: `${at('m1')}-f` });
    const [fb, fa] = [`m0=${at('m0')}-f`, `m1=${at('m1')}-f`];
    const tables = async (of: { base: string; expert: string }, name: string) => {
      await analyze({ base: of.base, experts: [of.expert] }, { out: at(name) });
      return readFileSync(join(at(name), 'm1.csv'), 'utf8');
    };
    expect(await tables({ base, expert: a }, 'x')).toBe(await tables({ base: fb, expert: fa }, 'y'));
    const compared = await diff(a, fa.replace('m1=', 'floats='));
    expect(compared.tensors.filter(({ state }) => state !== 'equal' && state !== 'sameValues')).toEqual([]);
    await revert({ base, model: a, bottom: 1, top: 0 }, { out: at('reverted') });
    await extractLora({ base, expert: a, rank: 2 }, { out: at('lora') });
    await extractLora({ base: fb, expert: fa, rank: 2, dtype: 'bfloat16' }, { out: at('lora-f') });
    const [lora, ofFloats] = ['lora', 'lora-f'].map((name) =>
      readFileSync(join(at(name), 'adapter_model.safetensors')).toString('hex'),
    );
    expect(lora).toBe(ofFloats);
  });

  it('are the base of an adapter as the float32 model is', async () => {
    const { root, base, a } = experts(scheme);
    const at = (name: string) => join(root, name);
    await extractLora({ base, expert: a, rank: 3 }, { out: at('lora') });
    await relayout({ model: base, dtype: 'float32' }, { out: at('f') });
    await relayout({ model: `${base}+${at('lora')}` }, { out: at('adapted') });
    await relayout({ model: `${at('f')}+${at('lora')}`, dtype: 'bfloat16' }, { out: at('adapted-f') });
    const [quantised, plain] = [await read(at('adapted')), await read(at('adapted-f'))];
    const name = 'model.layers.1.mlp.gate_proj.weight';
    // Here no adapter changes an expert: experts stay copies, and the model quantised.
    expect('quantization_config' in quantised.config).toBe(scheme === 'MXFP4 of experts');
    expect(hexOf(quantised, name).length).toBeGreaterThan(0);
    expect(hexOf(quantised, name)).toBe(hexOf(plain, name));
  });
});

it('experts in MXFP4 of many rows and columns are those of their formula, transposed', async () => {
  const root = temporaryDirectory();
  const { tensors, config } = quantisedLlama('MXFP4 of experts');
  const name = 'model.layers.2.mlp.experts.gate_up_proj';
  // More than is transposed at once, in both dimensions.
  const made = mxfp4([2, 288, 141], generator(9));
  const model = writeCheckpoint(join(root, 'm'), {
    tensors: { ...tensors, [`${name}_blocks`]: made.parts.blocks, [`${name}_scales`]: made.parts.scales },
    config,
  } as CheckpointFixture);
  await relayout({ model, dtype: 'float32' }, { out: join(root, 'out') });
  expect(hexOf(await read(join(root, 'out')), name)).toBe(bytesOf('F32', made.values));
});
