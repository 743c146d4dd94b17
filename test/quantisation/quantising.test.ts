import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { diff, exportRecipe, layerSwap, merge, planMerge, relayout, runPlan, soup } from '../../src/index.js';
import {
  fill,
  llama,
  llamaConfig,
  llamaShapes,
  temporaryDirectory,
  writeCheckpoint,
} from '../fixtures/checkpoints.js';
import { readTensors } from '../fixtures/merged.js';
import { decode, encode } from '../fixtures/numbers.js';
import { bytesOfCodes, keptOf, numbersOf, quantise, type SchemeName } from '../fixtures/quantising.js';

// Quantised outputs, and the rest of changes, against test/fixtures/quantising.ts.

const shape = { hidden: 64, layers: 4 };
const matrix = /self_attn\.[qko]_proj|mlp\.(gate|down)_proj/;

const models = () => {
  const root = temporaryDirectory();
  const at = (name: string) => join(root, name);
  const base = fill(llamaShapes(shape), 'BF16', 1);
  const near = (seed: number) =>
    Object.fromEntries(
      Object.entries(fill(llamaShapes(shape), 'BF16', seed)).map(([name, { data, ...tensor }]) => {
        const [own, other] = [numbersOf(base[name]?.data ?? data), numbersOf(data)];
        return [
          name,
          {
            ...tensor,
            data: encode(
              'BF16',
              own.map((x, i) => x + 0.1 * (other[i] ?? 0)),
            ),
          },
        ];
      }),
    );
  const made = { base, a: near(2), b: near(3) };
  for (const [name, tensors] of Object.entries(made))
    writeCheckpoint(at(name), { tensors, config: llamaConfig(shape) });
  const numbers = (model: keyof typeof made, name: string) =>
    numbersOf(made[model][name]?.data ?? new Uint8Array());
  return { root, base: at('base'), a: at('a'), b: at('b'), out: at('out'), numbers, made };
};

/** The same, with NaN as element [1, 13] of an expert's matrix. */
const withNaN = () => {
  const { made, ...others } = models();
  const name = 'model.layers.2.self_attn.q_proj.weight';
  const numbers = [...numbersOf(made.a[name]?.data ?? new Uint8Array())];
  numbers[77] = Number.NaN;
  const tensor = { dtype: 'BF16', shape: [64, 64], data: encode('BF16', numbers) };
  const tensors = { ...made.a, [name]: tensor };
  const model = writeCheckpoint(join(others.root, 'nan'), { tensors, config: llamaConfig(shape) });
  return { ...others, name, model };
};

const hex = (bytes: Uint8Array | undefined): string =>
  createHash('sha256')
    .update(bytes ?? new Uint8Array())
    .digest('hex');

const configOf = (directory: string) =>
  (
    JSON.parse(readFileSync(join(directory, 'config.json'), 'utf8')) as {
      quantization_config?: Readonly<Record<string, unknown>>;
    }
  ).quantization_config;

const sizes = (of: readonly number[] | undefined): readonly [number, number] => [of?.[0] ?? 0, of?.[1] ?? 0];

const mean = (a: readonly number[], b: readonly number[]) =>
  a.map((x, i) => Math.fround(0.5 * x + 0.5 * (b[i] ?? 0)));

describe.each([
  ['fp8-block', 'weight_scale_inv', 'F8_E4M3', [32, 32]],
  ['int8', 'weight_scale', 'I8', [1, 64]],
] as const)('an output in %s', (scheme, scales, dtype, block) => {
  const blockOf = ([, columns]: readonly [number, number]): readonly [number, number] =>
    scheme === 'int8' ? [1, columns] : block;
  const isQuantised = (name: string, of: readonly number[]) =>
    matrix.test(name) && (scheme === 'int8' || of.every((extent) => extent % 32 === 0));

  it('has the codes and scales of what the method makes, before anything has rounded it', async () => {
    const { a, b, out, numbers, made } = models();
    const zones = { bottom: 1, top: 1, bottomTransition: 1 };
    await layerSwap({ task: a, language: b, ...zones, quantize: scheme }, { out });
    const written = await readTensors(out);
    for (const [name, { shape: own }] of Object.entries(made.a)) {
      const layer = Number(/layers\.(\d)/.exec(name)?.[1] ?? -1);
      const [fromA, fromB] = [numbers('a', name), numbers('b', name)];
      const values =
        layer === -1 || layer === 1 ? mean(fromA, fromB) : layer === 0 || layer === 3 ? fromB : fromA;
      if (!isQuantised(name, own)) {
        expect([name, hex(written[name]?.data)]).toEqual([name, hex(encode('BF16', values))]);
        continue;
      }
      const wanted = quantise(scheme, values, sizes(own), blockOf(sizes(own)));
      expect([name, written[name]?.dtype, hex(written[name]?.data)]).toEqual([
        name,
        dtype,
        hex(bytesOfCodes(scheme, wanted.codes)),
      ]);
      const scale = written[name.replace(/weight$/, scales)];
      expect([name, scale?.dtype, hex(scale?.data)]).toEqual([
        name,
        'F32',
        hex(encode('F32', wanted.scales)),
      ]);
      expect(scale?.shape).toEqual(
        [own[0], own[1]].map((extent, i) => (extent ?? 0) / (blockOf(sizes(own))[i] ?? 1)),
      );
    }
    const more = Object.keys(written).filter((name) => !(name in made.a));
    expect(more.every((name) => name.endsWith(scales))).toBe(true);
  });

  it('is read as the values that its codes stand for, like a model from elsewhere', async () => {
    const { root, a, b, out, numbers, made } = models();
    await soup({ models: [a, b], quantize: scheme }, { out });
    await relayout({ model: out, dtype: 'float32' }, { out: join(root, 'values') });
    const values = await readTensors(join(root, 'values'));
    expect(Object.keys(values).sort()).toEqual(Object.keys(made.a).sort());
    const name = 'model.layers.2.self_attn.q_proj.weight';
    const wanted = quantise(scheme, mean(numbers('a', name), numbers('b', name)), [64, 64], block);
    expect(hex(values[name]?.data)).toBe(hex(encode('F32', wanted.values)));
  });

  it('tells how much of the change from the base is left, of tensors, layers and all, wherever it is told', async () => {
    const { base, a, b, out, numbers } = models();
    const { quantised } = await layerSwap(
      { task: a, language: b, base, bottom: 1, top: 1, quantize: scheme },
      { out },
    );
    const name = 'model.layers.2.self_attn.q_proj.weight';
    const wanted = keptOf(scheme, numbers('base', name), numbers('a', name), [64, 64], block);
    const found = quantised?.tensors.find((one) => one.name === name);
    expect(found).toMatchObject({ layer: 2 });
    for (const number of ['norm', 'share', 'cosine'] as const)
      expect(found?.[number]).toBeCloseTo(wanted[number], 6);
    expect(quantised?.layers.map(({ layer }) => layer)).toEqual([0, 1, 2, 3]);
    const all = Math.sqrt(quantised?.tensors.reduce((sum, { norm }) => sum + norm ** 2, 0) ?? 0);
    expect(quantised?.all.norm).toBeCloseTo(all, 6);
    expect(JSON.parse(readFileSync(join(out, 'layerloom.json'), 'utf8'))).toMatchObject({ quantised });
  });

  it('says so in config.json, and names what is not quantised', async () => {
    const { a, b, out } = models();
    await soup({ models: [a, b], quantize: scheme }, { out });
    const { ignore, modules_to_not_convert: listed = ignore, ...settings } = configOf(out) ?? {};
    expect(settings).toMatchObject(
      scheme === 'int8'
        ? { quant_method: 'compressed-tensors', format: 'int-quantized' }
        : { quant_method: 'fp8', activation_scheme: 'dynamic', weight_block_size: [32, 32] },
    );
    expect(listed).toEqual([
      'lm_head',
      ...(scheme === 'int8'
        ? []
        : [0, 1, 2, 3].flatMap((layer) =>
            ['down', 'gate'].map((which) => `model.layers.${layer}.mlp.${which}_proj`),
          )),
    ]);
  });

  it('is made anew from one that is quantised, and swapped by copies', async () => {
    const { root, a, b, out } = models();
    const at = (name: string) => join(root, name);
    for (const model of ['a', 'b'])
      await relayout({ model: at(model), quantize: scheme }, { out: at(`q${model}`) });
    await layerSwap({ task: at('qa'), language: at('qb'), bottom: 1, top: 1 }, { out });
    await layerSwap({ task: a, language: b, bottom: 1, top: 1, quantize: scheme }, { out: at('direct') });
    const [copied, direct] = [await readTensors(out), await readTensors(at('direct'))];
    expect(Object.keys(copied).sort()).toEqual(Object.keys(direct).sort());
    for (const [name, { data }] of Object.entries(direct))
      expect([name, hex(copied[name]?.data)]).toEqual([name, hex(data)]);
    await soup({ models: [at('qa'), at('qb')], quantize: scheme }, { out: at('again') });
    expect(configOf(at('again'))).toEqual(configOf(at('direct')));
  });

  it('is compared by values with models that are not quantised', async () => {
    const { a, b, out } = models();
    await soup({ models: [a, b], quantize: scheme }, { out });
    const { tensors, equal } = await diff(a, out);
    expect(equal).toBe(false);
    const name = 'model.layers.2.self_attn.q_proj.weight';
    const found = tensors.find((one) => one.name === name);
    expect(found).toMatchObject({ state: 'differs', difference: { differingBits: null } });
    expect(found?.difference?.differing).toBeGreaterThan(3000);
    expect(found?.difference?.relative).toBeGreaterThan(0.001);
  });

  it('keeps what is no finite number where that is allowed', async () => {
    const { root, name, model, out } = withNaN();
    await relayout({ model, quantize: scheme, allowNonFinite: true }, { out });
    await relayout({ model: out, dtype: 'float32', allowNonFinite: true }, { out: join(root, 'values') });
    const { data = new Uint8Array() } = (await readTensors(join(root, 'values')))[name] ?? {};
    expect(decode('F32', data)[77]).toBeNaN();
  });

  it('refuses values that are no finite numbers, those of copies too', async () => {
    const { name, model, out } = withNaN();
    await expect(relayout({ model, quantize: scheme }, { out })).rejects.toMatchObject({
      code: 'NON_FINITE',
      details: { tensors: [{ tensor: name, index: [1, 13] }] },
    });
  });
});

describe('what is left of a change', () => {
  it.each<[SchemeName, readonly [number, number]]>([
    ['fp8-block', [32, 32]],
    ['int8', [1, 64]],
    ['int4', [1, 128]],
    ['mxfp4', [1, 32]],
    ['nvfp4', [1, 16]],
  ])('in %s is reported of two models', async (scheme, block) => {
    const { base, a, numbers } = models();
    const { quantised } = await diff(base, a, { quantizeReport: scheme });
    for (const name of ['model.layers.0.self_attn.k_proj.weight', 'model.layers.3.self_attn.o_proj.weight']) {
      const size = [name.includes('k_proj') ? 32 : 64, 64] as const;
      const wanted = keptOf(scheme, numbers('base', name), numbers('a', name), size, block);
      const found = quantised?.tensors.find((one) => one.name === name);
      for (const number of ['norm', 'share', 'cosine'] as const)
        expect(found?.[number]).toBeCloseTo(wanted[number], 6);
    }
    expect(quantised).toMatchObject({ scheme, block: scheme === 'int8' ? null : block });
    expect(quantised?.layers).toHaveLength(4);
  });

  it('is nothing where steps are larger than the change, and all of what did not change is unchanged', async () => {
    const root = temporaryDirectory();
    const at = (name: string) => join(root, name);
    const tensors = fill(llamaShapes(shape), 'F32', 1);
    writeCheckpoint(at('plain'), { tensors, config: llamaConfig({ ...shape, dtype: 'F32' }) });
    // A base on the grid of int8, and changes of a hundredth of a step.
    await relayout({ model: at('plain'), quantize: 'int8' }, { out: at('q') });
    await relayout({ model: at('q'), dtype: 'float32' }, { out: at('base') });
    const name = 'model.layers.1.self_attn.o_proj.weight';
    const found = await readTensors(at('base'));
    const data = Buffer.from(found[name]?.data ?? []);
    // Not the row's largest, which determines the step.
    const small = [...Array(64).keys()].find((i) => Math.abs(data.readFloatLE(4 * i)) < 0.02) ?? 0;
    data.writeFloatLE(data.readFloatLE(4 * small) + 1e-6, 4 * small);
    const changed = { ...found, [name]: { dtype: 'F32', shape: [64, 64], data } };
    writeCheckpoint(at('model'), { tensors: changed, config: llamaConfig({ ...shape, dtype: 'F32' }) });
    const { quantised } = await diff(at('base'), at('model'), { quantizeReport: 'int8' });
    expect(quantised?.layers.map(({ share, cosine }) => [share, cosine])).toEqual([
      [null, null],
      [0, 0],
      [null, null],
      [null, null],
    ]);
  });

  it('is told once more by a run that goes on with finished codes', async () => {
    const { base, a, b, out } = models();
    const recipe = { method: 'soup', models: [a, b], base, quantize: 'int8' } as const;
    const plan = await planMerge(recipe);
    const stop = new AbortController();
    const stopped = runPlan(plan, {
      out,
      resume: true,
      threads: 1,
      signal: stop.signal,
      onProgress: ({ done }) => {
        if (done > 0) stop.abort();
      },
    });
    await stopped.catch(({ code }: { code: string }) => expect(code).toBe('INTERRUPTED'));
    const { quantised } = await runPlan(plan, { out, resume: true, force: true });
    expect(quantised?.tensors).toHaveLength(20);
  });

  it('is measured of merges by methods with a base', async () => {
    const { base, a, b, out } = models();
    const recipe = {
      method: 'ties',
      base,
      models: [a, b],
      weight: 1,
      density: 0.4,
      quantize: 'int8',
    } as const;
    const { quantised } = await merge(recipe, { out });
    expect(quantised?.tensors).toHaveLength(20);
  });
});

describe('a quantised output is refused', () => {
  it.each([
    ['where no matrix is of whole blocks', { hidden: 24 }, {}, 'multiples of 32'],
    ['where experts are to be fused', { hidden: 64 }, { experts: 'fused' }, 'separate'],
  ] as const)('%s', async (_, of, more, words) => {
    const root = temporaryDirectory();
    const model = writeCheckpoint(join(root, 'm'), llama(of));
    await expect(
      relayout({ model, quantize: 'fp8-block', ...more }, { out: join(root, 'out') }),
    ).rejects.toThrow(words);
  });

  it('where its recipe is exported for mergekit, which writes none', async () => {
    const { a, b } = models();
    const recipe = { method: 'soup', models: [a, b], quantize: 'int8' } as const;
    await expect(exportRecipe(recipe)).rejects.toMatchObject({
      code: 'EXPORT_UNSUPPORTED',
      message: expect.stringContaining('a quantised output') as string,
    });
  });

  it('of a model whose modules are not linear', async () => {
    const root = temporaryDirectory();
    const config = { ...llamaConfig(shape), model_type: 'gpt2' };
    const model = writeCheckpoint(join(root, 'm'), { ...llama(shape), config });
    await expect(relayout({ model, quantize: 'int8' }, { out: join(root, 'out') })).rejects.toThrow(
      'linear modules',
    );
  });

  it('in a report of values that are no finite numbers, with their place and file', async () => {
    const { base, name, model } = withNaN();
    await expect(diff(base, model, { quantizeReport: 'int8' })).rejects.toMatchObject({
      code: 'NON_FINITE',
      details: { tensors: [{ tensor: name, index: [1, 13], file: join(model, 'model.safetensors') }] },
    });
  });

  it('in a report of matrices that no blocks divide', async () => {
    const root = temporaryDirectory();
    const [a, b] = [1, 2].map((seed) => writeCheckpoint(join(root, `m${seed}`), llama({ hidden: 24, seed })));
    await expect(diff(a ?? '', b ?? '', { quantizeReport: 'fp8-block' })).rejects.toThrow('multiples of 32');
  });

  it('in a scheme that is only reported of, and reports of no scheme', async () => {
    const { base, a, out } = models();
    const recipe = { model: a, quantize: 'mxfp4' } as unknown as Parameters<typeof relayout>[0];
    await expect(relayout(recipe, { out })).rejects.toMatchObject({ code: 'INVALID_PARAMETER' });
    await expect(diff(base, a, { quantizeReport: 'int3' as 'int4' })).rejects.toMatchObject({
      code: 'INVALID_PARAMETER',
    });
  });
});
