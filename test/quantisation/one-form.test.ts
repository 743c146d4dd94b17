import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { layerSwap, merge, planMerge, type RecipeInput, relayout, soup } from '../../src/index.js';
import { llama, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';
import { readTensors } from '../fixtures/merged.js';
import { encode } from '../fixtures/numbers.js';
import { quantisedLlama, type SchemeName } from '../fixtures/quantised.js';

// The form of an output if some or all models are quantised.

const scheme = 'FP8 in blocks';

interface Settings {
  readonly modules_to_not_convert?: readonly string[];
}

const expert = (
  directory: string,
  seed: number,
  unquantised: RegExp,
  list: readonly string[] | undefined,
) => {
  const { config, ...fixture } = quantisedLlama(scheme, { seed, isPlain: (name) => unquantised.test(name) });
  const settings = { ...(config?.['quantization_config'] as object), modules_to_not_convert: list };
  return writeCheckpoint(directory, { ...fixture, config: { ...config, quantization_config: settings } });
};

const configOf = (directory: string) =>
  JSON.parse(readFileSync(join(directory, 'config.json'), 'utf8')) as {
    readonly quantization_config?: Settings;
  };

const swappedList = async (
  task: { plain: RegExp; list?: readonly string[] },
  language: { plain: RegExp; list?: readonly string[] },
) => {
  const root = temporaryDirectory();
  const [a, b, out] = [
    expert(join(root, 'a'), 1, task.plain, task.list),
    expert(join(root, 'b'), 2, language.plain, language.list),
    join(root, 'out'),
  ];
  await layerSwap({ task: a, language: b, bottom: 1, top: 1, others: 'task' }, { out });
  return configOf(out).quantization_config?.modules_to_not_convert;
};

const none = /^$/;

describe('a swap by copies', () => {
  it('has the modules of both lists that are not quantised', async () => {
    expect(
      await swappedList(
        { plain: /layers\.2\.mlp\.down_proj/, list: ['model.layers.2.mlp.down_proj'] },
        { plain: /layers\.4\.self_attn/, list: ['model.layers.4.self_attn'] },
      ),
    ).toEqual([
      'model.layers.2.mlp.down_proj',
      'model.layers.4.self_attn',
      'model.layers.4.self_attn.q_proj',
      'model.layers.4.self_attn.k_proj',
      'model.layers.4.self_attn.o_proj',
    ]);
  });

  it('leaves out entries that would name a module which is quantised in the output', async () => {
    expect(
      await swappedList({ plain: /down_proj/, list: ['down_proj'] }, { plain: none, list: ['lm_head'] }),
    ).toEqual([
      ...[
        'model.embed_tokens',
        'model.layers.1.mlp.down_proj',
        'model.layers.2.mlp.down_proj',
        'model.layers.3.mlp.down_proj',
      ],
      'lm_head',
    ]);
  });

  it('takes no entry for a pattern, and names modules in its place', async () => {
    const slow = '(a+)+$';
    const list = await swappedList(
      { plain: /layers\.0\.mlp\.down_proj|layers\.1\.mlp\.down_proj/, list: [slow, 're:.*down_proj'] },
      { plain: none },
    );
    expect(list).toEqual(['model.embed_tokens', 'model.layers.1.mlp.down_proj']);
  });

  it('names no module for biases beside its quantised weights', async () => {
    const root = temporaryDirectory();
    const [task, language] = [1, 2].map((seed) => {
      const { tensors, config } = quantisedLlama('MXFP4 of experts', { seed });
      const biases = [0, 1, 2, 3, 4].map((layer) => [
        `model.layers.${layer}.mlp.experts.gate_up_proj_bias`,
        { dtype: 'F32', shape: [2, 6], data: new Uint8Array(48) } as const,
      ]);
      return writeCheckpoint(join(root, String(seed)), {
        tensors: { ...tensors, ...Object.fromEntries(biases) },
        config,
      });
    });
    const out = join(root, 'out');
    await layerSwap(
      { task: task ?? '', language: language ?? '', bottom: 1, top: 1, others: 'task' },
      { out },
    );
    expect(configOf(out).quantization_config).toEqual(configOf(task ?? '').quantization_config);
  });

  it('keeps no plain entry that is a part of the name of a quantised module', async () => {
    const list = await swappedList({ plain: /self_attn/, list: ['self_attn'] }, { plain: none, list: [] });
    expect(list).not.toContain('self_attn');
    expect(list).toContain('model.layers.1.self_attn.q_proj');
  });

  it('has the modules of either model of bitsandbytes that are not quantised', async () => {
    const root = temporaryDirectory();
    const [a, b] = [/layers\.2\.mlp\.down_proj/, /layers\.4\.self_attn\.q_proj/].map((plain, index) => {
      const made = quantisedLlama('NF4 of bitsandbytes with nested scales', {
        seed: index,
        isPlain: (name) => plain.test(name),
      });
      return writeCheckpoint(join(root, String(index)), made);
    });
    await layerSwap(
      { task: a ?? '', language: b ?? '', bottom: 1, top: 1, others: 'task' },
      { out: join(root, 'out') },
    );
    expect(configOf(join(root, 'out')).quantization_config).toMatchObject({
      llm_int8_skip_modules: ['lm_head', 'model.layers.2.mlp.down_proj', 'model.layers.4.self_attn.q_proj'],
    });
  });

  it('has no list where no model has one', async () => {
    expect(await swappedList({ plain: none }, { plain: none })).toBeUndefined();
  });
});

describe('a swap of models of GPTQ, which has no list', () => {
  const swapped = async (plain: RegExp, settings: object, others: object = {}) => {
    const root = temporaryDirectory();
    const made = [quantisedLlama('GPTQ of 4 bits in any order', { seed: 1 })];
    made.push(
      quantisedLlama('GPTQ of 4 bits in any order', { seed: 2, isPlain: (name) => plain.test(name) }),
    );
    const [task, language] = made.map(({ tensors, config }, index) =>
      writeCheckpoint(join(root, String(index)), {
        tensors,
        config: {
          ...config,
          quantization_config: {
            ...(config?.['quantization_config'] as object),
            ...(index === 1 ? settings : others),
          },
        },
      }),
    );
    const out = join(root, 'out');
    await layerSwap(
      { task: task ?? '', language: language ?? '', bottom: 1, top: 1, others: 'task' },
      { out },
    );
    return { out: configOf(out).quantization_config, task: configOf(task ?? '').quantization_config };
  };

  it('stays quantised, whatever their numbers were found by', async () => {
    const { out, task } = await swapped(none, {
      damp_percent: 0.05,
      dataset: 'c4',
      meta: { quantizer: 'x' },
    });
    expect(out).toEqual(task);
  });

  it('is dequantised where dynamic settings are in another order, since the first that matches counts', async () => {
    const [one, other] = [{ '+:.*mlp': { group_size: 8 } }, { '+:.*down_proj': { group_size: 8, bits: 4 } }];
    const dynamic = { ...one, ...other };
    expect((await swapped(none, { dynamic }, { dynamic })).out).toBeDefined();
    expect((await swapped(none, { dynamic }, { dynamic: { ...other, ...one } })).out).toBeUndefined();
  });

  it.each([
    ['where a module of one is not quantised', /layers\.4\.mlp\.down_proj/, {}],
    ['where features of one are in order, and of the other are not', none, { desc_act: false }],
  ])('is dequantised %s', async (_, plain, settings) => {
    expect((await swapped(plain, settings)).out).toBeUndefined();
  });
});

describe('an output is dequantised', () => {
  const pair = (language: Parameters<typeof writeCheckpoint>[1]) => {
    const root = temporaryDirectory();
    return {
      out: join(root, 'out'),
      task: writeCheckpoint(join(root, 't'), quantisedLlama(scheme, { seed: 1 })),
      language: writeCheckpoint(join(root, 'l'), language),
    };
  };
  const swap = { bottom: 1, top: 1 } as const;

  it('where one of its models is not quantised', async () => {
    const { task, language, out } = pair(llama({ layers: 5, seed: 2 }));
    await layerSwap({ task, language, ...swap }, { out });
    expect(configOf(out)).not.toHaveProperty('quantization_config');
    await layerSwap({ task: language, language: task, ...swap }, { out, force: true });
    expect(configOf(out)).not.toHaveProperty('quantization_config');
  });

  it('where its models are quantised in two ways', async () => {
    const { task, language, out } = pair(quantisedLlama('FP8 by channels', { seed: 2 }));
    await layerSwap({ task, language, ...swap }, { out });
    expect(configOf(out)).not.toHaveProperty('quantization_config');
  });

  it('where a dtype is asked for', async () => {
    const { task, out } = pair(llama({ layers: 5 }));
    await relayout({ model: task, dtype: 'bfloat16' }, { out });
    expect(configOf(out)).not.toHaveProperty('quantization_config');
  });

  it('and not where it is copied alone', async () => {
    const { task, out } = pair(llama({ layers: 5 }));
    await relayout({ model: task }, { out });
    expect(configOf(out)).toEqual(configOf(task));
    const { shards } = await planMerge({ method: 'relayout', model: task, layout: 'size' });
    expect(shards.map(({ verbatim }) => verbatim)).toEqual([{ input: 0, file: 0 }]);
  });
});

const stackOf = (model: string, layers: readonly number[]) =>
  ({
    method: 'passthrough',
    slices: layers.map((layer) => ({ sources: [{ model, layerRange: [layer, layer + 1] }] })),
  }) as unknown as RecipeInput;

describe('a stack by copies', () => {
  it('names each module that is not quantised by its place in the output, and keeps no pattern', async () => {
    const root = temporaryDirectory();
    const list = ['lm_head', 'model.layers.1.mlp.down_proj', 're:.*layers\\.[5-9].*'];
    const model = expert(join(root, 'a'), 1, /layers\.1\.mlp\.down_proj/, list);
    const out = join(root, 'out');
    await merge(stackOf(model, [1, 0, 2, 3, 4, 1, 0]), { out });
    const found = configOf(out).quantization_config?.modules_to_not_convert;
    expect(found?.filter((entry) => /layers/.test(entry))).toEqual([
      'model.layers.0.mlp.down_proj',
      'model.layers.5.mlp.down_proj',
    ]);
    expect(found).toContain('lm_head');
  });

  it('is not quantised where settings name layers, of which the output has others', async () => {
    const root = temporaryDirectory();
    const { config, ...fixture } = quantisedLlama(scheme, { seed: 1 });
    const settings = {
      ...(config?.['quantization_config'] as object),
      per_module: { 'model.layers.2.mlp': 8 },
    };
    const model = writeCheckpoint(join(root, 'a'), {
      ...fixture,
      config: { ...config, quantization_config: settings },
    });
    const out = join(root, 'out');
    await merge(stackOf(model, [0, 2]), { out });
    expect(configOf(out).quantization_config).toBeUndefined();
  });

  it.each<[string, object, boolean]>([
    ['is quantised where only its origin has numbers', { meta: { quantizer: ['gptqmodel:5.6.0'] } }, true],
    [
      'is not quantised where patterns may name layers',
      { groups: { 're:.*[.]3[.]mlp': { bits: 4 } } },
      false,
    ],
  ])('%s', async (_, settings, isQuantised) => {
    const root = temporaryDirectory();
    const { tensors, config } = quantisedLlama('AWQ', { seed: 1 });
    const quantization_config = { ...(config?.['quantization_config'] as object), ...settings };
    const model = writeCheckpoint(join(root, 'a'), { tensors, config: { ...config, quantization_config } });
    await merge(stackOf(model, [0, 2, 3]), { out: join(root, 'out') });
    expect(configOf(join(root, 'out')).quantization_config !== undefined).toBe(isQuantised);
  });
});

describe('scales of the KV cache', () => {
  const cache = [
    'model.layers.3.self_attn.k_scale',
    'model.layers.3.self_attn.attn.v_scale',
    'model.layers.3.self_attn.q_proj.output_scale',
    'model.layers.4.self_attn.k_proj.k_scale',
  ];
  const withCache = (directory: string, scheme: SchemeName, seed: number, plain = none) => {
    const { tensors, config } = quantisedLlama(scheme, { seed, isPlain: (name) => plain.test(name) });
    const scale = { dtype: 'F32', shape: [1], data: encode('F32', [seed]) } as const;
    return writeCheckpoint(directory, {
      tensors: { ...tensors, ...Object.fromEntries(cache.map((name) => [name, scale])) },
      config,
    });
  };
  const int4 = 'int4 of compressed-tensors by groups';

  it('stay beside quantised layers, under their new numbers', async () => {
    const root = temporaryDirectory();
    const model = withCache(join(root, 'a'), int4, 1);
    await merge(stackOf(model, [0, 4, 3]), { out: join(root, 'out') });
    const names = Object.keys(await readTensors(join(root, 'out')));
    expect(names.filter((name) => /[kqv]_scale|output_scale/.test(name)).sort()).toEqual([
      'model.layers.1.self_attn.k_proj.k_scale',
      'model.layers.2.self_attn.attn.v_scale',
      'model.layers.2.self_attn.k_scale',
      'model.layers.2.self_attn.q_proj.output_scale',
    ]);
  });

  it.each([
    ['as they are', none],
    ['beside attention that is not quantised', /self_attn/],
  ])('are left out of an output that is not quantised, with a warning, %s', async (_, plain) => {
    const root = temporaryDirectory();
    const [a, b] = [withCache(join(root, 'a'), int4, 1, plain), join(root, 'b')];
    writeCheckpoint(b, quantisedLlama(int4, { seed: 2, isPlain: (name) => plain.test(name) }));
    const { warnings } = await soup({ models: [a, b] }, { out: join(root, 'out') });
    expect(warnings).toContainEqual(
      'a has scales of the KV cache (model.layers.3.self_attn.k_scale, …); the output has none, as it is not quantised',
    );
    expect(Object.keys(await readTensors(join(root, 'out')))).not.toContainEqual(
      expect.stringMatching(/_scale$/),
    );
  });
});

it('refuses to dequantise a model beside modules that are only copied', async () => {
  const root = temporaryDirectory();
  const module = 'model.layers.3.mlp.down_proj';
  const { tensors, config } = quantisedLlama('NVFP4 of ModelOpt', { seed: 1 });
  const scale = { dtype: 'F32', shape: [40], data: new Uint8Array(160) } as const;
  const model = writeCheckpoint(join(root, 'a'), {
    tensors: { ...tensors, [`${module}.pre_quant_scale`]: scale },
    config,
  });
  await expect(planMerge({ method: 'relayout', model, dtype: 'bfloat16' })).rejects.toMatchObject({
    code: 'QUANTISED_WEIGHTS',
    details: { tensor: `${module}.weight` },
  });
  await expect(planMerge({ method: 'relayout', model })).resolves.toBeDefined();
});

it('refuses to quantise what is plain beside codes that are not read', async () => {
  const { tensors, config } = quantisedLlama('GPTQ of 4 bits in any order', {
    isPlain: (name) => name.includes('down_proj'),
  });
  const quantization_config = { ...(config?.['quantization_config'] as object), bits: 3 };
  const model = writeCheckpoint(join(temporaryDirectory(), 'a'), {
    tensors,
    config: { ...config, quantization_config },
  });
  await expect(planMerge({ method: 'relayout', model, quantize: 'int8' })).rejects.toMatchObject({
    code: 'QUANTISED_WEIGHTS',
  });
});
