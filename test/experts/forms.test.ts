import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { ExpertLayout } from '../../src/core/models/experts/layouts.js';
import {
  analyze,
  diff,
  extractLora,
  layerSwap,
  type MergeOptions,
  type MergePlan,
  merge,
  planMerge,
  type RecipeInput,
  relayout,
  runExperiment,
  runPlan,
} from '../../src/index.js';
import { writeAdapter } from '../fixtures/adapters.js';
import { type Tensors, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';
import { readTensors } from '../fixtures/merged.js';
import {
  expertAdapter,
  fusedMixture,
  type MixtureOptions,
  mixtral,
  mixtureConfig,
  separateMixture,
  transposedMixture,
} from '../fixtures/mixtures.js';
import { decode, encode } from '../fixtures/numbers.js';

// A mixture in two forms of files gives the same numbers in both. fixtures/mixtures.ts writes them
// independently.

const families: readonly (readonly [string, MixtureOptions])[] = [
  ['Qwen', {}],
  ['Mixtral', mixtral],
];

const bytesOf = (tensors: Tensors): Record<string, Buffer> =>
  Object.fromEntries(Object.entries(tensors).map(([name, { data }]) => [name, Buffer.from(data)]));

const shapesOf = (tensors: Tensors): Record<string, string> =>
  Object.fromEntries(
    Object.entries(tensors).map(([name, { dtype, shape }]) => [name, `${dtype} ${shape.join()}`]),
  );

const write = (options: MixtureOptions) => {
  const root = temporaryDirectory();
  const config = mixtureConfig(options);
  const of = (form: 'fused' | 'separate', seed: number, name: string) => {
    const make = form === 'fused' ? fusedMixture : separateMixture;
    return writeCheckpoint(join(root, form, name), { tensors: make({ ...options, seed }), config });
  };
  const all = (form: 'fused' | 'separate') => ({
    base: of(form, 1, 'base'),
    math: of(form, 2, 'math'),
    swh: of(form, 3, 'swh'),
  });
  return { root, fused: all('fused'), separate: all('separate') };
};

type Models = ReturnType<typeof write>['fused'];

const commands: readonly (readonly [string, (models: Models) => RecipeInput])[] = [
  ['a swap', ({ math, swh }) => ({ method: 'layer_swap', task: math, language: swh, bottom: 1, top: 0 })],
  [
    'a swap with a transition',
    ({ math, swh }) => ({
      method: 'layer_swap',
      task: math,
      language: swh,
      bottom: 0,
      top: 0,
      bottomTransition: 1,
    }),
  ],
  ['a soup', ({ math, swh }) => ({ method: 'soup', models: [math, swh], weights: [0.25, 0.75] })],
  [
    'TIES',
    ({ base, math, swh }) => ({ method: 'ties', base, models: [math, swh], density: 0.4, weights: [1, 1] }),
  ],
  [
    'DARE',
    ({ base, math, swh }) => ({
      method: 'dare_linear',
      base,
      models: [math, swh],
      density: 0.5,
      weights: [1, 1],
      seed: 3,
    }),
  ],
  ['a revert by rows', ({ base, math }) => ({ method: 'revert', base, model: math, threshold: 0.02 })],
  ['a revert by layers', ({ base, math }) => ({ method: 'revert', base, model: math, bottom: 1, top: 0 })],
  ['a soup in bfloat16', ({ math, swh }) => ({ method: 'soup', models: [math, swh], dtype: 'bfloat16' })],
];

describe.each(families)('mixtures of %s, fused and with each expert by itself,', (_, options) => {
  const written = async (recipe: RecipeInput, out: string, more: Partial<MergeOptions> = {}) =>
    readTensors((await merge(recipe, { out, ...more })).out);

  it.each(commands)('give one merge: %s', async (_name, recipe) => {
    const { root, fused, separate } = write(options);
    const expected = await written(recipe(separate), join(root, 'separate-out'));
    expect(shapesOf(expected)).toEqual(
      Object.fromEntries(
        Object.entries(shapesOf(separateMixture(options))).map(([name, shape]) => [
          name,
          (recipe(separate) as { dtype?: string }).dtype === undefined ? shape : shape.replace('F32', 'BF16'),
        ]),
      ),
    );
    const inFused = await written(recipe(fused), join(root, 'fused-out'));
    expect(bytesOf(inFused)).toEqual(bytesOf(fuseAgain(expected, options)));
    const outputs: readonly (readonly [Models, ExpertLayout | undefined, Tensors])[] = [
      [fused, 'separate', expected],
      [separate, 'fused', inFused],
      [{ ...fused, swh: separate.swh }, undefined, inFused],
      [{ ...separate, swh: fused.swh }, undefined, expected],
    ];
    for (const [index, [models, experts, as]] of outputs.entries()) {
      const found = await written(recipe(models), join(root, `out-${index}`), { experts });
      expect(bytesOf(found)).toEqual(bytesOf(as));
    }
  });

  it('have no differences', async () => {
    const { fused, separate } = write(options);
    for (const [a, b] of [
      [fused.math, separate.math],
      [separate.swh, fused.swh],
    ] as const)
      expect((await diff(a, b)).equal).toBe(true);
    expect((await diff(fused.math, separate.swh)).equal).toBe(false);
  });

  it('give one analysis, by expert', async () => {
    const { root, fused, separate } = write(options);
    const [a, b] = [
      await analyze({ base: fused.base, experts: [separate.math, fused.swh] }, { out: join(root, 'a') }),
      await analyze({ base: separate.base, experts: [fused.math, separate.swh] }, { out: join(root, 'b') }),
    ];
    for (const [index, expert] of a.experts.entries()) {
      expect(expert.tensors).toEqual(b.experts[index]?.tensors);
      expect(Object.keys(expert.tensors).filter((name) => name.includes('.experts.2.'))).toHaveLength(6);
    }
  });

  it('have the share of each expert in the change', async () => {
    const { root, fused } = write(options);
    const { block = 'mlp', matrices = ['gate_proj', 'up_proj', 'down_proj'] } = options;
    // Expert 2 of layer 1 changes three times as much as expert 0 of layer 0; nothing else changes.
    const base = separateMixture(options);
    const changed = new Map([
      [`model.layers.0.${block}.experts.0.${matrices[0]}.weight`, 1],
      [`model.layers.1.${block}.experts.2.${matrices[2]}.weight`, 3],
    ]);
    const tensors = Object.fromEntries(
      Object.entries(base).map(([name, tensor]) => {
        const by = changed.get(name);
        if (by === undefined) return [name, tensor];
        const values = decode('F32', tensor.data).map(() => by);
        return [name, { ...tensor, data: encode('F32', values) }];
      }),
    );
    const zero = Object.fromEntries(
      Object.entries(tensors).map(([name, tensor]) => [
        name,
        changed.has(name) ? { ...tensor, data: Buffer.alloc(tensor.data.length) } : tensor,
      ]),
    );
    const config = mixtureConfig(options);
    const paths = [zero, tensors].map((of, index) =>
      writeCheckpoint(join(root, `model-${index}`), { tensors: fusedMixture({ ...options, of }), config }),
    );
    const { shares } = await analyze(
      { base: paths[0] ?? '', experts: [paths[1] ?? ''] },
      { out: join(root, 'out') },
    );
    expect(shares[0]?.experts).toEqual([
      [0.25, 0, 0],
      [0, 0, 0.75],
    ]);
    const saved = JSON.parse(readFileSync(join(root, 'out', 'model-1.json'), 'utf8'));
    expect(saved.shares.experts).toEqual(shares[0]?.experts);
    expect(
      (await analyze({ base: fused.base, experts: [fused.math] }, { out: join(root, 'all') })).shares[0]
        ?.experts,
    ).toHaveLength(2);
  });

  it('are swapped and averaged by sets of experts, with filters', async () => {
    const { root, fused, separate } = write(options);
    const [math, swh] = [await readTensors(separate.math), await readTensors(separate.swh)];
    const weights = (own: number) => [
      { filter: '.experts.0.', value: own },
      { filter: '.experts.2.', value: 0.5 },
      { value: 1 - own },
    ];
    const recipe = {
      method: 'linear',
      models: [
        { model: fused.math, weight: weights(0) },
        { model: separate.swh, weight: weights(1) },
      ],
    };
    const found = await written(recipe as never, join(root, 'out'), { experts: 'separate' });
    for (const [name, tensor] of Object.entries(found)) {
      const [a, b] = [math[name], swh[name]].map((of) => decode('F32', Buffer.from(of?.data ?? [])));
      const own = name.includes('.experts.0.') ? b : a;
      const mean = a?.map((value, index) => Math.fround((value + (b?.[index] ?? 0)) / 2));
      const values = decode('F32', tensor.data);
      if (name.includes('.experts.2.')) expect([name, values]).toEqual([name, mean]);
      else expect([name, values]).toEqual([name, own]);
    }
  });

  it('give one adapter, which makes the same of either', async () => {
    const { root, fused, separate } = write(options);
    const [a, b] = [join(root, 'a'), join(root, 'b')];
    await extractLora({ base: fused.base, expert: separate.math, rank: 2 }, { out: a });
    await extractLora({ base: separate.base, expert: fused.math, rank: 2 }, { out: b });
    const file = 'adapter_model.safetensors';
    expect(readFileSync(join(a, file)).equals(readFileSync(join(b, file)))).toBe(true);
    const one = await written({ method: 'relayout', model: `${fused.base}+${a}` }, join(root, 'one'));
    const other = await written({ method: 'relayout', model: `${separate.base}+${b}` }, join(root, 'other'));
    expect(bytesOf(one)).toEqual(bytesOf(fuseAgain(other, options)));
  });

  it('are rewritten in the other form and back, bit by bit', async () => {
    const { root, fused, separate } = write(options);
    const to = await relayout({ model: fused.math }, { out: join(root, 'to'), experts: 'separate' });
    expect(bytesOf(await readTensors(to.out))).toEqual(bytesOf(await readTensors(separate.math)));
    const back = await relayout(
      { model: to.out },
      { out: join(root, 'back'), experts: 'fused', layout: 'size' },
    );
    expect(shapesOf(await readTensors(back.out))).toEqual(shapesOf(await readTensors(fused.math)));
    expect(bytesOf(await readTensors(back.out))).toEqual(bytesOf(await readTensors(fused.math)));
  });

  it('are copies of whole files where all of a file is copied', async () => {
    const { root, fused } = write(options);
    const plan = await planMerge({ method: 'relayout', model: fused.math }, { layout: 'size' });
    expect(plan.shards).toMatchObject([{ verbatim: { input: 0, file: 0 } }]);
    const { out } = await runPlan(plan, { out: join(root, 'out') });
    expect(
      readFileSync(join(out, 'model.safetensors')).equals(
        readFileSync(join(fused.math, 'model.safetensors')),
      ),
    ).toBe(true);
    // Each by itself it is another file.
    const other = await planMerge(
      { method: 'relayout', model: fused.math },
      { layout: 'size', experts: 'separate' },
    );
    expect(other.shards[0]).not.toHaveProperty('verbatim');
  });

  it('are never cut within a parameter', async () => {
    const { root, fused } = write(options);
    const { out } = await relayout({ model: fused.math }, { out: join(root, 'out'), maxShardSize: 300 });
    expect(bytesOf(await readTensors(out))).toEqual(bytesOf(await readTensors(fused.math)));
  });

  it('are made again by the recipe of the output', async () => {
    const { root, fused } = write(options);
    const { out } = await layerSwap(
      { task: fused.math, language: fused.swh, bottom: 1, top: 0 },
      { out: join(root, 'out'), experts: 'separate' },
    );
    const again = await merge(join(out, 'layerloom.json'), { out: join(root, 'again') });
    expect(bytesOf(await readTensors(again.out))).toEqual(bytesOf(await readTensors(out)));
  });

  it('give one batch', async () => {
    const { root, fused, separate } = write(options);
    const experiment = ({ base, math, swh }: Models) => ({
      base,
      tasks: { math },
      languages: { swahili: { swh } },
      merges: [
        { name: 'swap', method: 'layer_swap', bottom: 1, top: 0 },
        { name: 'soup', method: 'soup' },
        { name: 'other', method: 'soup', experts: 'separate' },
      ],
    });
    const [a, b] = [join(root, 'a'), join(root, 'b')];
    const found = await runExperiment(experiment(fused) as never, { out: a });
    await runExperiment(experiment(separate) as never, { out: b });
    expect(bytesOf(await readTensors(join(a, 'swahili/math+swh/other')))).toEqual(
      bytesOf(await readTensors(join(b, 'swahili/math+swh/other'))),
    );
    for (const { name } of found.merges.filter((one) => !one.name.endsWith('other')))
      expect(bytesOf(await readTensors(join(a, name)))).toEqual(
        bytesOf(fuseAgain(await readTensors(join(b, name)), options)),
      );
  });
});

const fuseAgain = (tensors: Tensors, options: MixtureOptions): Tensors =>
  fusedMixture({ ...options, of: tensors });

describe('the form of experts', () => {
  it('is refused of an adapter', async () => {
    const [base, lora] = ['base', 'lora'].map((name) => join(temporaryDirectory(), name));
    const model = writeCheckpoint(base ?? '', { tensors: fusedMixture(), config: mixtureConfig() });
    const adapter = writeAdapter(lora ?? '', expertAdapter());
    const recipe = { method: 'soup', base: model, models: [adapter, `b=${adapter}`] } as const;
    await expect(planMerge(recipe as never, { experts: 'fused' })).rejects.toThrow(
      /nothing where the output is an adapter/,
    );
  });

  const planOf = (
    tensors: Tensors,
    config: Record<string, unknown>,
    experts: ExpertLayout,
  ): Promise<MergePlan> =>
    planMerge(
      {
        method: 'relayout',
        model: writeCheckpoint(join(temporaryDirectory(), 'model'), { tensors, config }),
      },
      { experts },
    );

  it('is refused separate where files have none of each expert', async () => {
    for (const tensors of [transposedMixture(), transposedMixture({ inner: 8 })])
      await expect(planOf(tensors, mixtureConfig({ family: 'gpt_oss' }), 'separate')).rejects.toThrow(
        /expected fused, since model\.layers\.\d\.mlp\.experts\..* is in a form/,
      );
  });

  it('is refused fused where experts differ', async () => {
    const tensors = separateMixture();
    const name = 'model.layers.1.mlp.experts.1.up_proj.weight';
    const other = separateMixture({ inner: 6 })[name];
    if (other === undefined) throw new Error(`there is no ${name}`);
    await expect(planOf({ ...tensors, [name]: other }, mixtureConfig(), 'fused')).rejects.toThrow(
      /expected separate, since .*layers\.1\.mlp\.experts\.0\.gate_proj\.weight is F32 \[5, 8\], and .*experts\.1\.up_proj\.weight F32 \[6, 8\]/,
    );
  });

  it('leaves experts stored as [in, out], and those with biases, as they are', async () => {
    const bias = { dtype: 'F32', shape: [3, 10], data: Buffer.alloc(120) };
    const cases: readonly (readonly [Tensors, Record<string, unknown>])[] = [
      [transposedMixture(), mixtureConfig({ family: 'gpt_oss' })],
      [{ ...fusedMixture(), 'model.layers.0.mlp.experts.gate_up_proj_bias': bias }, mixtureConfig()],
    ];
    for (const [tensors, config] of cases) {
      const plan = await planOf(tensors, config, 'fused');
      const names = plan.shards.flatMap((shard) => shard.tensors.map(({ name }) => name));
      expect(names).toContain('model.layers.0.mlp.experts.gate_up_proj');
    }
  });

  it('leaves a model that has an expert in both forms as it is', async () => {
    const name = 'model.layers.0.mlp.experts.0.gate_proj.weight';
    const twice = { ...fusedMixture(), [name]: { dtype: 'F32', shape: [5, 8], data: Buffer.alloc(160) } };
    const model = writeCheckpoint(join(temporaryDirectory(), 'model'), {
      tensors: twice,
      config: mixtureConfig(),
    });
    const plan = await planMerge({ method: 'relayout', model });
    expect(plan.shards.flatMap((shard) => shard.tensors.map((tensor) => tensor.name)).sort()).toEqual(
      Object.keys(twice).sort(),
    );
  });
});
