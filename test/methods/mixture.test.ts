import { readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import {
  analyze,
  diff,
  exportRecipe,
  type MergePlan,
  type MixtureParameters,
  merge,
  planMerge,
  relayout,
  runPlan,
} from '../../src/index.js';
import { lora, writeAdapter } from '../fixtures/adapters.js';
import { fill, type Tensors, writeCheckpoint } from '../fixtures/checkpoints.js';
import {
  type DenseModels,
  dense,
  denseConfig,
  denseShapes,
  gatesFile,
  hidden,
  prompted,
  randomMixture,
  writeDense,
} from '../fixtures/dense.js';
import { readTensors } from '../fixtures/merged.js';
import { decode, encode, generator } from '../fixtures/numbers.js';
import { type SchemeFixture, schemeFixtures } from '../fixtures/quantised.js';

// Names and configurations of mergekit-moe 0.1.5, which test/peers/mixtures.test.ts runs.

const bytes = (tensors: Tensors, name: string): Buffer => Buffer.from(tensors[name]?.data ?? []);

const configOf = (out: string) =>
  JSON.parse(readFileSync(join(out, 'config.json'), 'utf8')) as Record<string, unknown>;

const made = async (models: DenseModels, more: Partial<MixtureParameters> = {}, options: object = {}) => {
  const out = join(models.root, `out-${Math.random()}`);
  const result = await merge(randomMixture(models, more), { out, ...options });
  const [base, a, b, c] = await Promise.all(
    [models.base, models.a, models.b, models.c].map((model) => readTensors(model)),
  );
  return { out, result, tensors: await readTensors(out), config: configOf(out), base, a, b, c } as {
    out: string;
    result: typeof result;
    tensors: Tensors;
    config: Record<string, unknown>;
    base: Tensors;
    a: Tensors;
    b: Tensors;
    c: Tensors;
  };
};

describe('a mixture of dense models', () => {
  it('has attention, norms and embeddings of the base, and the MLPs of each model as an expert of each layer', async () => {
    const { out, tensors, base, a, b, c, config } = await made(writeDense(), {}, { experts: 'separate' });
    const expected: Record<string, Buffer> = {};
    for (const name of Object.keys(base)) if (!name.includes('.mlp.')) expected[name] = bytes(base, name);
    for (const layer of [0, 1])
      for (const [expert, model] of [a, b, c].entries())
        for (const [ours, theirs] of [
          ['w1', 'gate_proj'],
          ['w3', 'up_proj'],
          ['w2', 'down_proj'],
        ])
          expected[`model.layers.${layer}.block_sparse_moe.experts.${expert}.${ours}.weight`] = bytes(
            model,
            `model.layers.${layer}.mlp.${theirs}.weight`,
          );
    const routers = [0, 1].map((layer) => `model.layers.${layer}.block_sparse_moe.gate.weight`);
    expect(Object.keys(tensors).sort()).toEqual([...Object.keys(expected), ...routers].sort());
    for (const [name, data] of Object.entries(expected))
      expect([name, bytes(tensors, name).equals(data)]).toEqual([name, true]);
    for (const router of routers)
      expect(tensors[router]).toMatchObject({ dtype: 'BF16', shape: [3, hidden] });
    // transformers 5 requires a number that is no integer.
    expect(readFileSync(join(out, 'config.json'), 'utf8')).toContain('"router_jitter_noise": 0.0,');
    expect(config).toEqual({
      ...denseConfig(),
      architectures: ['MixtralForCausalLM'],
      model_type: 'mixtral',
      num_local_experts: 3,
      num_experts_per_tok: 2,
      output_router_logits: false,
      router_aux_loss_coef: 0.001,
      router_jitter_noise: 0,
      sliding_window: null,
    });
  });

  it('has its experts fused where mergekit-moe writes them so, and goes from one form to the other and back', async () => {
    const models = writeDense();
    const { tensors, out, a, b, c } = await made(models);
    const [up, down] = ['gate_up_proj', 'down_proj'].map((end) => `model.layers.1.mlp.experts.${end}`);
    const of = (model: Tensors, matrix: string) => bytes(model, `model.layers.1.mlp.${matrix}.weight`);
    expect(readHeader(out, up ?? '')).toEqual([3, 80, hidden]);
    expect(readHeader(out, down ?? '')).toEqual([3, hidden, 40]);
    expect(readHeader(out, 'model.layers.1.mlp.gate.weight')).toEqual([3, hidden]);
    const [separate, fused] = [join(models.root, 'separate'), join(models.root, 'fused')];
    await relayout({ model: out }, { out: separate, experts: 'separate' });
    const apart = await readTensors(separate);
    for (const [expert, model] of [a, b, c].entries())
      expect(bytes(apart, `model.layers.1.block_sparse_moe.experts.${expert}.w3.weight`)).toEqual(
        of(model, 'up_proj'),
      );
    await relayout({ model: separate }, { out: fused, experts: 'fused' });
    expect(await readTensors(fused)).toEqual(tensors);
  });

  it.each([
    ['llama', 'qwen', 'qwen2_moe', 'shared_expert'],
    ['qwen2', undefined, 'qwen2_moe', 'shared_expert'],
    ['mistral', 'deepseek', 'deepseek', 'shared_experts'],
  ] as const)(
    'of %s in the layout %s is %s with a shared expert',
    async (family, architecture, type, block) => {
      const models = writeDense({ family });
      const { tensors, config, base, a, b } = await made(models, {
        models: [models.a, models.b],
        sharedExperts: [{ model: models.a, residualScale: 0.5 }],
        architecture,
      });
      expect(config['model_type']).toBe(type);
      expect(bytes(tensors, 'model.layers.1.mlp.experts.1.up_proj.weight')).toEqual(
        bytes(b, 'model.layers.1.mlp.up_proj.weight'),
      );
      expect(bytes(tensors, `model.layers.0.mlp.${block}.gate_proj.weight`)).toEqual(
        bytes(a, 'model.layers.0.mlp.gate_proj.weight'),
      );
      const halves = decode('BF16', bytes(a, 'model.layers.0.mlp.down_proj.weight')).map((x) => x / 2);
      expect(bytes(tensors, `model.layers.0.mlp.${block}.down_proj.weight`)).toEqual(
        Buffer.from(encode('BF16', halves)),
      );
      expect(tensors['model.layers.0.mlp.gate.weight']?.shape).toEqual([2, hidden]);
      const own = tensors['model.layers.0.mlp.shared_expert_gate.weight'];
      expect(own?.shape).toEqual(type === 'deepseek' ? undefined : [1, hidden]);
      const bias = 'model.layers.1.self_attn.k_proj.bias';
      if (family === 'qwen2') expect(bytes(tensors, bias)).toEqual(bytes(base, bias));
      // Qwen's attention has biases: 0, not −0.
      if (family === 'llama') expect(bytes(tensors, bias)).toEqual(Buffer.alloc(hidden));
      if (family === 'mistral') expect(tensors[bias]).toBeUndefined();
    },
  );

  it('of Qwen3 keeps the norms of its heads', async () => {
    const { tensors, config, base } = await made(writeDense({ family: 'qwen3' }));
    const name = 'model.layers.1.self_attn.q_norm.weight';
    expect(bytes(tensors, name)).toEqual(bytes(base, name));
    expect(config).toMatchObject({ model_type: 'qwen3_moe', num_experts: 3, moe_intermediate_size: 40 });
  });

  it('says in config.json what the dense family means by a key that is not there', async () => {
    const models = writeDense();
    const {
      num_key_value_heads: _heads,
      rms_norm_eps: _eps,
      rope_parameters: _rope,
      ...rest
    } = denseConfig();
    writeFileSync(join(models.base, 'config.json'), JSON.stringify(rest));
    const { config } = await made(models);
    expect(config).toMatchObject({ num_key_value_heads: 4, rms_norm_eps: 1e-6, rope_theta: 10_000 });
  });

  it('scales what an expert adds, which is its down projections', async () => {
    const models = writeDense();
    const { tensors, b } = await made(
      models,
      { models: [models.a, { model: models.b, residualScale: 0.3 }] },
      { experts: 'separate' },
    );
    const at = (matrix: string) => `model.layers.0.block_sparse_moe.experts.1.${matrix}.weight`;
    const scaled = decode('BF16', bytes(b, 'model.layers.0.mlp.down_proj.weight')).map((x) =>
      Math.fround(x * Math.fround(0.3)),
    );
    expect(bytes(tensors, at('w2'))).toEqual(Buffer.from(encode('BF16', scaled)));
    expect(bytes(tensors, at('w1'))).toEqual(bytes(b, 'model.layers.0.mlp.gate_proj.weight'));
  });

  it('adds noise of a standard deviation, other numbers to each tensor', async () => {
    const models = writeDense({ dtype: 'F32', inner: 400 });
    const { tensors, b } = await made(
      models,
      { models: [models.a, { model: models.b, noiseScale: 0.01, residualScale: 0.5 }] },
      { experts: 'separate' },
    );
    const noise = (matrix: string, dense: string, scale: number) => {
      const before = decode('F32', bytes(b, `model.layers.0.mlp.${dense}.weight`));
      return decode('F32', bytes(tensors, `model.layers.0.block_sparse_moe.experts.1.${matrix}.weight`)).map(
        (x, i) => x - scale * (before[i] ?? 0),
      );
    };
    const [w1, w3, w2] = [
      noise('w1', 'gate_proj', 1),
      noise('w3', 'up_proj', 1),
      noise('w2', 'down_proj', 0.5),
    ];
    for (const [numbers, deviation] of [
      [w1, 0.01],
      [w2, 0.005],
    ] as const) {
      const mean = numbers.reduce((sum, x) => sum + x, 0) / numbers.length;
      const variance = numbers.reduce((sum, x) => sum + x * x, 0) / numbers.length;
      expect(Math.abs(mean)).toBeLessThan(deviation / 10);
      expect(Math.sqrt(variance) / deviation).toBeGreaterThan(0.95);
      expect(Math.sqrt(variance) / deviation).toBeLessThan(1.05);
    }
    expect(w1.some((x, i) => Math.abs(x - (w3[i] ?? 0)) > 0.01)).toBe(true);
  });

  it('has routers of random numbers that follow from the seed, the name and the element', async () => {
    const models = writeDense({ dtype: 'F32' });
    const { tensors } = await made(models, { seed: 7 }, { experts: 'separate' });
    const router = 'model.layers.1.block_sparse_moe.gate.weight';
    // By Python's statistics.NormalDist().inv_cdf of the words of SplitMix64.
    expect(decode('F32', bytes(tensors, router)).slice(0, 6)).toEqual([
      0.8742014169692993, -0.03791191056370735, -0.17060601711273193, -0.5740885138511658, -0.784453272819519,
      -0.1233830377459526,
    ]);
    const uniform = await made(models, { gateMode: 'uniform_random' }, { experts: 'separate' });
    const numbers = decode('F32', bytes(uniform.tensors, 'model.layers.0.block_sparse_moe.gate.weight'));
    expect(numbers.slice(0, 6)).toEqual([
      -0.0809570848941803, -0.231951043009758, -0.05938075855374336, 0.19611333310604095,
      -0.15733686089515686, 0.18170182406902313,
    ]);
    expect(Math.max(...numbers.map(Math.abs))).toBeLessThanOrEqual(Math.sqrt(1 / hidden));
  });

  it('has the routers of a file, in its own dtype or converted', async () => {
    const models = writeDense();
    const { file, tensors: gates } = gatesFile(models.root, 2);
    const given = { models: prompted([models.a, models.b]), gateMode: 'hidden', gates: file } as const;
    const { tensors, out } = await made(models, given, { experts: 'separate' });
    for (const layer of [0, 1]) {
      const stored = gates[`model.layers.${layer}.mlp.gate.weight`]?.data ?? new Uint8Array();
      const name = `model.layers.${layer}.block_sparse_moe.gate.weight`;
      expect(bytes(tensors, name)).toEqual(Buffer.from(encode('BF16', decode('F32', stored))));
    }
    const record = JSON.parse(readFileSync(join(out, 'layerloom.json'), 'utf8'));
    expect(record.inputs.map(({ role, path }: MergePlan['inputs'][number]) => [role, path])).toEqual([
      ['base', models.base],
      ['expert', models.a],
      ['expert', models.b],
      ['gates', file],
    ]);
  });

  it('is made again, to the byte, by its plan as JSON, and by the recipe that its record has', async () => {
    const models = writeDense();
    const { file } = gatesFile(models.root, 3);
    const recipe = randomMixture(models, {
      models: [
        ...prompted([models.a, models.b]),
        { model: models.a, positivePrompts: ['x'], noiseScale: 0.1 },
      ],
      gateMode: 'hidden',
      gates: file,
    });
    const out = (name: string) => join(models.root, name);
    await merge(recipe, { out: out('one'), threads: 1 });
    await runPlan(JSON.parse(JSON.stringify(await planMerge(recipe))), { out: out('two'), threads: 3 });
    await merge(join(out('one'), 'layerloom.json'), { out: out('three') });
    const first = await readTensors(out('one'));
    expect(await readTensors(out('two'))).toEqual(first);
    expect(await readTensors(out('three'))).toEqual(first);
  });

  it('is a file of mergekit-moe when it is exported, which makes the same again', async () => {
    const models = writeDense();
    const { file } = gatesFile(models.root, 2);
    const recipe = randomMixture(models, {
      models: [
        { model: models.a, positivePrompts: ['x'], residualScale: 0.5 },
        { model: models.b, positivePrompts: ['y'], negativePrompts: ['x'] },
      ],
      gateMode: 'cheap_embed',
      gates: file,
      expertsPerToken: 1,
    });
    const { text } = await exportRecipe(recipe);
    const exported = parse(text);
    const path = (model: string) => relative(process.cwd(), model);
    expect(exported).toEqual({
      base_model: path(models.base),
      experts: [
        { source_model: path(models.a), positive_prompts: ['x'], residual_scale: 0.5 },
        { source_model: path(models.b), positive_prompts: ['y'], negative_prompts: ['x'] },
      ],
      gate_mode: 'cheap_embed',
      gates: path(file),
      experts_per_token: 1,
    });
    writeFileSync(join(models.root, 'exported.yml'), text);
    const again = await planMerge(join(models.root, 'exported.yml'));
    expect(again.shards).toEqual((await planMerge(recipe)).shards);
    await expect(exportRecipe({ ...recipe, experts: 'separate' })).rejects.toThrow('experts: separate');
  });

  it('may have the base, or one model several times, among its experts', async () => {
    const models = writeDense();
    const { tensors, base, result } = await made(
      models,
      { models: [models.base, models.base, models.base] },
      { experts: 'separate' },
    );
    for (const expert of [0, 1, 2])
      expect(bytes(tensors, `model.layers.0.block_sparse_moe.experts.${expert}.w1.weight`)).toEqual(
        bytes(base, 'model.layers.0.mlp.gate_proj.weight'),
      );
    expect(result.warnings).toEqual([
      'all experts are one model: the mixture computes what that does, until it is trained',
    ]);
  });

  it('takes experts of other vocabularies and tokenizers, whose embeddings it has no use for', async () => {
    const models = writeDense();
    const other = dense({ seed: 5 });
    const shape = [31, hidden];
    writeCheckpoint(models.b, {
      config: { ...other.config, vocab_size: 31 },
      tensors: {
        ...other.tensors,
        ...fill({ 'model.embed_tokens.weight': shape, 'lm_head.weight': shape }, 'BF16', 6),
      },
    });
    const { tensors, base } = await made(models);
    expect(bytes(tensors, 'model.embed_tokens.weight')).toEqual(bytes(base, 'model.embed_tokens.weight'));
  });

  it('takes sharded models, adapters, quantised models and recipes like any merge', async () => {
    const models = writeDense();
    const shapes = denseShapes();
    const names = Object.keys(shapes);
    const split = writeCheckpoint(join(models.root, 'split'), {
      ...dense({ seed: 3 }),
      shards: [names.slice(0, 9), names.slice(9)],
    });
    const adapter = writeAdapter(
      join(models.root, 'adapter'),
      lora({ shapes, targets: ['gate_proj', 'down_proj'] }),
    );
    const nested = { method: 'soup', models: [models.a, models.c] } as const;
    const { tensors, b } = await made(
      models,
      { models: [split, `${models.base}+${adapter}`, nested] },
      { experts: 'separate' },
    );
    const at = (expert: number) => `model.layers.1.block_sparse_moe.experts.${expert}.w2.weight`;
    const out = (name: string) => join(models.root, name);
    await relayout({ model: `${models.base}+${adapter}` }, { out: out('applied') });
    await merge(nested, { out: out('soup') });
    const name = 'model.layers.1.mlp.down_proj.weight';
    expect(bytes(tensors, at(0))).toEqual(bytes(b, name));
    expect(bytes(tensors, at(1))).toEqual(bytes(await readTensors(out('applied')), name));
    expect(bytes(tensors, at(2))).toEqual(bytes(await readTensors(out('soup')), name));
  });

  it('is analysed and compared like any mixture', async () => {
    const models = writeDense();
    const one = await made(models);
    const two = await made(models, { models: [models.a, models.b, models.base] });
    const { tensors } = await diff(one.out, two.out);
    const differing = tensors.filter(({ difference }) => difference !== null).map(({ name }) => name);
    expect(differing.every((name) => name.includes('.experts.2.'))).toBe(true);
    expect(differing).toHaveLength(6);
    const { experts } = await analyze(
      { base: one.out, experts: [two.out] },
      { out: join(models.root, 'analysis') },
    );
    expect(experts).toHaveLength(1);
  });
});

const readHeader = (out: string, name: string): unknown => {
  const index = JSON.parse(readFileSync(join(out, 'model.safetensors.index.json'), 'utf8'));
  const file = readFileSync(join(out, index.weight_map[name]));
  return JSON.parse(file.subarray(8, 8 + Number(file.readBigUInt64LE())).toString())[name].shape;
};

it('takes the numbers of quantised models, and is not quantised itself', async () => {
  const models = writeDense();
  const { settings, quantise }: SchemeFixture = schemeFixtures['FP8 in blocks'];
  const { tensors: plain, config } = dense({ seed: 3 });
  const next = generator(7);
  const values = new Map<string, readonly number[]>();
  const tensors = Object.fromEntries(
    Object.entries(plain).flatMap(([name, tensor]) => {
      const [rows = 1, columns = 1] = tensor.shape;
      if (!name.endsWith('_proj.weight')) return [[name, tensor]];
      const made = quantise([rows, columns], next);
      values.set(name, made.values);
      const module = name.slice(0, -'weight'.length);
      return Object.entries(made.parts).map(([part, stored]) => [`${module}${part}`, stored]);
    }),
  );
  for (const model of [models.base, models.b])
    writeCheckpoint(model, { tensors, config: { ...config, quantization_config: settings } });
  const out = join(models.root, 'out');
  await merge(randomMixture(models), { out, experts: 'separate' });
  const mixed = await readTensors(out);
  const expected = (name: string) => Buffer.from(encode('BF16', [...(values.get(name) ?? [])]));
  for (const [ours, theirs] of [
    ['self_attn.q_proj', 'self_attn.q_proj'],
    ['block_sparse_moe.experts.1.w3', 'mlp.up_proj'],
  ])
    expect(bytes(mixed, `model.layers.1.${ours}.weight`)).toEqual(
      expected(`model.layers.1.${theirs}.weight`),
    );
  expect(configOf(out)['quantization_config']).toBeUndefined();
  expect(Object.keys(mixed).filter((name) => name.includes('scale'))).toEqual([]);
});
