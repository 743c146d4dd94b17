import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { layerSwap, merge, planMerge, relayout, soup } from '../../src/index.js';
import { adaptedTensors } from '../fixtures/adapted.js';
import { type AdapterFixture, lora, withTensors, writeAdapter } from '../fixtures/adapters.js';
import {
  type LlamaOptions,
  llama,
  llamaShapes,
  type TensorFixture,
  type Tensors,
  temporaryDirectory,
  writeCheckpoint,
} from '../fixtures/checkpoints.js';
import { hashOf } from '../fixtures/contents.js';
import { readTensors } from '../fixtures/merged.js';
import { decode, encode, type Floating } from '../fixtures/numbers.js';

interface Made {
  readonly root: string;
  readonly base: string;
  readonly tensors: Tensors;
  /** `BASE+ADAPTER` of each adapter. */
  readonly models: readonly string[];
}

const make = (options: LlamaOptions, ...adapters: readonly AdapterFixture[]): Made => {
  const root = temporaryDirectory();
  const base = llama({ seed: 5, ...options });
  const path = writeCheckpoint(join(root, 'base'), base);
  return {
    root,
    base: path,
    tensors: base.tensors,
    models: adapters.map(
      (adapter, index) => `${path}+${writeAdapter(join(root, `lora-${index + 1}`), adapter)}`,
    ),
  };
};

const written = async (model: string, root: string, name: string): Promise<string> =>
  (await relayout({ model }, { out: join(root, name), layout: 'size' })).out;

const numbers = ({ dtype, data }: TensorFixture): number[] => decode(dtype as Floating, data);

/** The largest difference relative to the largest number. */
const errorOf = (a: TensorFixture, b: TensorFixture): number => {
  const [x, y] = [numbers(a), numbers(b)];
  const largest = Math.max(...y.map(Math.abs));
  return Math.max(...x.map((value, index) => Math.abs(value - (y[index] ?? 0)))) / largest;
};

const expectTensors = (found: Tensors, expected: Tensors, tolerance: number): void => {
  expect(Object.keys(found).sort()).toEqual(Object.keys(expected).sort());
  for (const [name, tensor] of Object.entries(expected)) {
    const own = found[name] as TensorFixture;
    expect([name, own.dtype, own.shape]).toEqual([name, tensor.dtype, tensor.shape]);
    expect([name, errorOf(own, tensor) <= tolerance]).toEqual([name, true]);
  }
};

describe('BASE+ADAPTER', () => {
  it.each<[string, AdapterFixture, LlamaOptions]>([
    ['factors', lora(), { dtype: 'F32' }],
    ['ranks of its own for a module', lora({ ranks: { q_proj: 2, 'mlp.down_proj': 9 } }), { dtype: 'F32' }],
    [
      'embeddings and a head',
      lora({ shapes: llamaShapes({ tied: false }), targets: ['embed_tokens', 'lm_head', 'o_proj'] }),
      { dtype: 'F32', tied: false },
    ],
    [
      'whole tensors',
      lora({ shapes: llamaShapes({ tied: false }), saved: ['lm_head.weight', 'model.norm.weight'] }),
      { dtype: 'F32', tied: false },
    ],
    ['factors in bfloat16', lora({ dtype: 'BF16' }), { dtype: 'F32' }],
    ['magnitudes (DoRA)', lora({ config: { use_dora: true } }), { dtype: 'F32' }],
    [
      'magnitudes of embeddings and a head (DoRA)',
      lora({
        shapes: llamaShapes({ tied: false }),
        targets: ['embed_tokens', 'lm_head', 'o_proj'],
        config: { use_dora: true },
      }),
      { dtype: 'F32', tied: false },
    ],
  ])('is W + s · B · A of an adapter with %s', async (_, adapter, options) => {
    const { root, tensors, models } = make(options, adapter);
    const found = await readTensors(await written(models[0] ?? '', root, 'out'));
    expectTensors(found, adaptedTensors(tensors, adapter), 1e-6);
  });

  it.each<[string, readonly string[], boolean]>([
    ['the embeddings', ['embed_tokens'], false],
    ['a head', ['lm_head'], false],
    ['both, with ensure_weight_tying', ['embed_tokens', 'lm_head'], true],
  ])('unties embeddings and head if factors change one use: %s', async (_, targets, isKept) => {
    const adapter = lora({
      shapes: llamaShapes({ tied: false }),
      targets: [...targets, 'o_proj'],
      config: { ensure_weight_tying: isKept },
    });
    const { root, tensors, models } = make({ dtype: 'F32' }, adapter);
    const out = await written(models[0] ?? '', root, 'out');
    const embeddings = tensors['model.embed_tokens.weight'] as TensorFixture;
    const { 'lm_head.weight': head, ...expected } = adaptedTensors(
      { ...tensors, 'lm_head.weight': embeddings },
      adapter,
    );
    expectTensors(
      await readTensors(out),
      isKept ? expected : { ...expected, 'lm_head.weight': head as TensorFixture },
      1e-6,
    );
    const config = JSON.parse(readFileSync(join(out, 'config.json'), 'utf8')) as Record<string, unknown>;
    expect(config['tie_word_embeddings']).toBe(isKept);
  });

  it('rounds to the dtype of the base once', async () => {
    const adapter = lora();
    const { root, tensors, models } = make({ dtype: 'BF16' }, adapter);
    const found = await readTensors(await written(models[0] ?? '', root, 'out'));
    const expected = adaptedTensors(tensors, adapter);
    let equal = 0;
    let count = 0;
    for (const [name, tensor] of Object.entries(expected)) {
      const [own, other] = [numbers(found[name] as TensorFixture), numbers(tensor)];
      equal += own.filter((value, index) => value === other[index]).length;
      count += own.length;
    }
    expect(equal / count).toBeGreaterThan(0.9998);
    expectTensors(found, expected, 2 ** -8);
  });

  it('scales columns to their norms where DoRA changes a transposed layer, as of GPT-2', async () => {
    const adapter = lora({ config: { use_dora: true, fan_in_fan_out: true } });
    const { base, root, tensors } = make({ dtype: 'F32' }, adapter);
    const model = `${base}+${writeAdapter(join(root, 'conv1d'), adapter)}`;
    // An unknown family, so that the adapter's configuration decides.
    const config = JSON.parse(readFileSync(join(base, 'config.json'), 'utf8')) as Record<string, unknown>;
    const { model_type: _, ...rest } = config;
    writeFileSync(join(base, 'config.json'), JSON.stringify(rest));
    const found = await readTensors(await written(model, root, 'out'));
    expectTensors(found, adaptedTensors(tensors, adapter), 1e-6);
  });

  it('gives the bits of a DoRA adapter written out', async () => {
    const dora = lora({ rank: 3, seed: 2, config: { use_dora: true } });
    const { root, base, models } = make({}, dora);
    const [model = ''] = models;
    const full = await written(model, root, 'full');
    const out = (name: string) => join(root, name);
    const recipe = { method: 'ties', base, density: 0.5, weight: 1 } as const;
    const one = await merge({ ...recipe, models: [model, base] }, { out: out('ties') });
    const other = await merge({ ...recipe, models: [full, base] }, { out: out('ties-full') });
    expect(hashOf(one.out)).toBe(hashOf(other.out));
  });

  it('refuses an output of DoRA without a direction, and vectors that are not those of their factors', async () => {
    const name = 'model.layers.0.self_attn.q_proj.weight';
    const dora = lora({ config: { use_dora: true } });
    const shape = llamaShapes()[name] ?? [];
    const zero = { dtype: 'F32', shape, data: new Uint8Array(shape.reduce((x, y) => x * y, 4)) } as const;
    const root = temporaryDirectory();
    const tensors = { ...llama({ dtype: 'F32' }).tensors, [name]: zero };
    const base = writeCheckpoint(join(root, 'base'), { ...llama({ dtype: 'F32' }), tensors });
    const prefix = 'base_model.model.model.layers.0.self_attn.q_proj';
    const b = dora.tensors[`${prefix}.lora_B.weight`] as TensorFixture;
    const still = withTensors(dora, {
      [`${prefix}.lora_B.weight`]: { ...b, data: new Uint8Array(b.data.length) },
    });
    const merged = written(`${base}+${writeAdapter(join(root, 'still'), still)}`, root, 'out');
    await expect(merged).rejects.toMatchObject({ code: 'MERGE_UNDEFINED' });
    const vector = `${prefix}.lora_magnitude_vector`;
    for (const [index, changed] of [
      withTensors(dora, { [vector]: undefined }),
      withTensors(dora, { [vector]: { dtype: 'F32', shape: [3], data: new Uint8Array(12) } }),
      { ...dora, config: { ...dora.config, use_dora: false } },
    ].entries()) {
      const model = `${base}+${writeAdapter(join(root, `bad-${index}`), changed)}`;
      await expect(planMerge({ method: 'relayout', model })).rejects.toMatchObject({
        code: 'ADAPTER_INVALID',
      });
    }
  });

  it('divides by √rank with rsLoRA, and takes alpha by module', async () => {
    const adapter = lora({ rank: 4, alpha: 8, config: { use_rslora: true, alpha_pattern: { q_proj: 3 } } });
    const { root, tensors, models } = make({ dtype: 'F32' }, adapter);
    const found = await readTensors(await written(models[0] ?? '', root, 'out'));
    const scaleOf = (module: string) => (module.endsWith('q_proj') ? 1.5 : 4);
    expectTensors(found, adaptedTensors(tensors, adapter, scaleOf), 1e-6);
  });

  it('gives the bits of the model with the adapter written out', async () => {
    const { root, base, models } = make(
      {},
      lora({ rank: 3, seed: 2 }),
      lora({ rank: 8, targets: ['k_proj', 'down_proj'], seed: 3 }),
    );
    const [one = '', two = ''] = models;
    const [first, second] = [
      await written(one, root, 'lora-1-full'),
      await written(two, root, 'lora-2-full'),
    ];
    const out = (name: string) => join(root, name);
    const swap = { bottom: 2, top: 2, bottomTransition: 1, topTransition: 1 };
    const [a, b] = [
      await layerSwap({ task: one, language: two, ...swap }, { out: out('swap') }),
      await layerSwap({ task: first, language: second, ...swap }, { out: out('swap-full') }),
    ];
    expect(hashOf(a.out)).toBe(hashOf(b.out));
    const [c, d] = [
      await soup({ models: [one, two] }, { out: out('soup') }),
      await soup({ models: [first, second] }, { out: out('soup-full') }),
    ];
    expect(hashOf(c.out)).toBe(hashOf(d.out));
    const ties = { method: 'ties', base, density: 0.5, weights: [1, 1] } as const;
    const [e, f] = [
      await merge({ ...ties, models: [one, two] }, { out: out('ties') }),
      await merge({ ...ties, models: [first, second] }, { out: out('ties-full') }),
    ];
    expect(hashOf(e.out)).toBe(hashOf(f.out));
  });
});

describe('an adapter that lacks tensors', () => {
  const factors = (layer: number) =>
    Object.fromEntries(
      ['A', 'B'].map((letter) => [
        `base_model.model.model.layers.${layer}.self_attn.q_proj.lora_${letter}.weight`,
        undefined,
      ]),
    );

  it('is refused without what modules_to_save names', async () => {
    const whole = lora({ saved: ['model.norm.weight'] });
    const { models, base } = make(
      {},
      withTensors(whole, { 'base_model.model.model.norm.weight': undefined }),
    );
    await expect(planMerge({ method: 'soup', models: [...models, base] })).rejects.toMatchObject({
      code: 'ADAPTER_INVALID',
      message: expect.stringMatching(/has no tensor of norm, which modules_to_save .* names; download/),
    });
  });

  it('is a warning where other layers have factors of a module', async () => {
    const { models, base } = make({}, withTensors(lora(), { ...factors(1), ...factors(2) }));
    const { warnings } = await planMerge({ method: 'soup', models: [...models, base] });
    expect(warnings).toEqual([
      expect.stringMatching(/has no factors for model\.layers\.1\.self_attn\.q_proj and 1 more, which/),
    ]);
  });

  it.each([
    ['layers_to_transform', { layers_to_transform: [0, 3] }],
    ['a regular expression', { target_modules: '.*\\.[03]\\..*' }],
    ['whole names', { target_modules: ['model.layers.0.self_attn.q_proj', 'gate_proj', 'down_proj'] }],
  ])('is complete where %s leaves layers out', async (_, config) => {
    const { models, base } = make({}, withTensors(lora({ config }), { ...factors(1), ...factors(2) }));
    expect((await planMerge({ method: 'soup', models: [...models, base] })).warnings).toEqual([]);
  });

  it('is a warning in a merge of bare adapters', async () => {
    const { root, base } = make({});
    const config = { base_model_name_or_path: base };
    const models = [withTensors(lora({ config }), factors(1)), lora({ config, seed: 2 })].map(
      (adapter, index) => writeAdapter(join(root, `bare-${index}`), adapter),
    );
    const { warnings } = await planMerge({ method: 'soup', models });
    expect(warnings).toEqual([
      expect.stringMatching(/bare-0.* has no factors for .*\.1\.self_attn\.q_proj,/),
    ]);
  });
});

it('refuses factors that are not finite, naming the tensor and the adapter', async () => {
  const name = 'base_model.model.model.layers.1.self_attn.q_proj.lora_A.weight';
  const good = lora();
  const { shape = [], data } = good.tensors[name] as TensorFixture;
  const broken = encode('F32', [...decode('F32', data).slice(2), Number.NaN, Number.POSITIVE_INFINITY]);
  const { root, base, models } = make(
    {},
    withTensors(good, { [name]: { dtype: 'F32', shape, data: broken } }),
    lora({ seed: 9 }),
  );
  const out = join(root, 'out');
  const refused = {
    code: 'NON_FINITE',
    details: {
      tensors: [
        {
          tensor: expect.stringContaining('layers.1.self_attn.q_proj'),
          file: join(root, 'lora-1', 'adapter_model.safetensors'),
          index: [shape.reduce((product, extent) => product * extent, 1) - 2],
          is: 'NaN',
        },
      ],
    },
  };
  await expect(soup({ models }, { out })).rejects.toMatchObject(refused);
  const bare = models.map((model) => model.slice(base.length + 1));
  await expect(soup({ models: bare }, { out })).rejects.toMatchObject(refused);
  expect(existsSync(out)).toBe(false);
});
