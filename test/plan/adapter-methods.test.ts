import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { merge, type RecipeInput } from '../../src/index.js';
import { adapterPair, type LoraOptions, lora, withTensors, writeAdapter } from '../fixtures/adapters.js';
import { fill, llama, llamaShapes, writeCheckpoint } from '../fixtures/checkpoints.js';
import { changesOf, distance, weighted } from '../fixtures/lora-changes.js';
import { readTensors } from '../fixtures/merged.js';
import { decode } from '../fixtures/numbers.js';

/** Two adapters, their base, and a base of zeros, on which full weights equal changes. */
const setUp = (task: LoraOptions = {}, language: LoraOptions = {}) => {
  const pair = adapterPair(
    { rank: 4, alpha: 8, dtype: 'F32', ...task },
    { rank: 6, alpha: 3, dtype: 'F32', ...language },
  );
  const zeros = Object.fromEntries(
    Object.entries(llamaShapes()).map(([name, shape]) => {
      const elements = shape.reduce((product, extent) => product * extent, 1);
      return [name, { dtype: 'F32', shape, data: new Uint8Array(4 * elements) }];
    }),
  );
  const config = JSON.parse(readFileSync(join(pair.base, 'config.json'), 'utf8'));
  return { ...pair, zeros: writeCheckpoint(join(pair.root, 'zeros'), { tensors: zeros, config }) };
};

/** The highest rank of a matrix of the fixtures. */
const full = 16;
/** The loss of a float32 decomposition of a whole matrix: its least singular values. */
const nearly = 2e-3;

const tiesOf = (changes: readonly (readonly number[])[], density: number): number[] => {
  const length = changes[0]?.length ?? 0;
  const trimmed = changes.map((change) => {
    const kept = Math.floor(density * length);
    const order = change.map((value, index) => ({ size: Math.abs(value), index }));
    order.sort((a, b) => b.size - a.size || a.index - b.index);
    const stays = new Set(order.slice(0, kept).map(({ index }) => index));
    return change.map((value, index) => (stays.has(index) ? value : 0));
  });
  return Array.from({ length }, (_, index) => {
    const own = trimmed.map((change) => change[index] ?? 0);
    const sign = own.reduce((sum, value) => sum + value, 0) >= 0 ? 1 : -1;
    const agreeing = own.filter((value) => value * sign > 0);
    return agreeing.length === 0 ? 0 : agreeing.reduce((sum, value) => sum + value, 0) / agreeing.length;
  });
};

describe('methods of task vectors over bare adapters', () => {
  it('give the adapter of a rank that is nearest to TIES of the products', async () => {
    const { base, task, language, out } = setUp();
    const recipe = { method: 'ties', base, models: [task, language], weight: 1, density: 0.4 } as const;
    const { truncated = [] } = await merge({ ...recipe, rank: full }, { out });
    const [merged, ofTask, ofLanguage] = [
      await changesOf(out),
      await changesOf(task),
      await changesOf(language),
    ];
    expect(merged.products.size).toBe(24);
    for (const [module, product] of merged.products) {
      const changes = [ofTask, ofLanguage].flatMap(({ products }) => [products.get(module) ?? []]);
      expect(distance(product, tiesOf(changes, 0.4))).toBeLessThan(nearly);
    }
    // Every module has full rank, which the factors represent.
    for (const { rank, exactRank, error } of truncated) {
      expect([rank, exactRank]).toEqual([16, 16]);
      expect(error).toBeLessThan(nearly);
    }
    const lower = await merge({ ...recipe, rank: 3 }, { out: `${out}-3` });
    for (const { parameter, rank, error, norm } of lower.truncated ?? []) {
      const module = parameter.replace(/\.weight$/, '');
      const changes = [ofTask, ofLanguage].flatMap(({ products }) => [products.get(module) ?? []]);
      const exact = tiesOf(changes, 0.4);
      const written = (await changesOf(`${out}-3`)).products.get(module) ?? [];
      const size = (values: readonly number[]) => Math.hypot(...values);
      const left = size(exact.map((value, index) => value - (written[index] ?? 0)));
      expect(rank).toBe(3);
      expect(norm / size(exact)).toBeCloseTo(1, 5);
      expect(error).toBeCloseTo(left / size(exact), 4);
      expect(error).toBeGreaterThan(0.1);
    }
  });

  it.each<[string, object]>([
    ['ties', { density: 0.5, weights: [2, 1] }],
    ['dare_ties', { density: 0.5, weights: [1, 1], seed: 7 }],
    ['dare_linear', { density: 0.3, weights: [0.4, 0.6], seed: 1, lambda: 1.5 }],
    ['breadcrumbs', { density: 0.7, weights: [1, 1] }],
    ['breadcrumbs_ties', { density: 0.7, weights: [1, 1] }],
    ['della', { density: 0.5, weights: [1, 2], epsilon: 0.1 }],
    ['della_linear', { density: 0.5, weights: [1, 2], epsilon: 0.1 }],
    ['sce', { selectTopk: 0.5 }],
  ])(
    'make of %s what it makes of full weights, draws included, with the base away',
    async (method, parameters) => {
      const { base, zeros, task, language, root, out } = setUp({}, { targets: ['q_proj', 'down_proj'] });
      const recipe = { method, ...parameters };
      await merge({ ...recipe, base, models: [task, language], rank: full } as RecipeInput, { out });
      const whole = join(root, 'whole');
      const models = [task, language].map((adapter) => `${zeros}+${adapter}`);
      await merge({ ...recipe, base: zeros, models } as RecipeInput, { out: whole });
      const [merged, expected] = [await changesOf(out), await readTensors(whole)];
      expect(merged.products.size).toBeGreaterThan(20);
      for (const [module, product] of merged.products) {
        const { data } = expected[`${module}.weight`] ?? { data: new Uint8Array() };
        expect(distance(product, decode('F32', data))).toBeLessThan(nearly);
      }
    },
  );

  it('make of sums exactly what they are, of the ranks together', async () => {
    const { base, task, language, out } = setUp();
    const recipe = { method: 'task_arithmetic', base, models: [task, language], weights: [0.7, -0.2] };
    const { truncated } = await merge(recipe as RecipeInput, { out });
    expect(truncated).toBeUndefined();
    const [merged, ofTask, ofLanguage] = [
      await changesOf(out),
      await changesOf(task),
      await changesOf(language),
    ];
    for (const [module, product] of merged.products) {
      const exact = weighted([
        [0.7, ofTask.products.get(module)],
        [-0.2, ofLanguage.products.get(module)],
      ]);
      expect(distance(product, exact)).toBeLessThan(1e-6);
    }
  });

  it('stand in other merges of adapters', async () => {
    const { base, task, language, out } = setUp();
    const inner = { method: 'ties', base, models: [task, language], weight: 1, density: 0.4 };
    const recipe = { method: 'soup', models: [inner, `again=${task}`], weights: [1, 3], rank: full };
    await merge(recipe as RecipeInput, { out });
    const [merged, ofTask, ofLanguage] = [
      await changesOf(out),
      await changesOf(task),
      await changesOf(language),
    ];
    for (const [module, product] of merged.products) {
      const own = [ofTask, ofLanguage].map(({ products }) => products.get(module) ?? []);
      const exact = weighted([
        [0.25, tiesOf(own, 0.4)],
        [0.75, own[0]],
      ]);
      expect(distance(product, exact)).toBeLessThan(nearly);
    }
  });

  it('count the elements of fan_in_fan_out and of embeddings as B · A has them', async () => {
    const shapes = llamaShapes();
    const of = { shapes, targets: ['q_proj', 'embed_tokens'], config: { fan_in_fan_out: true } };
    const { base, task, language, out } = setUp(of, of);
    const recipe = { method: 'ties', base, models: [task, language], weight: 1, density: 0.3 } as const;
    await merge({ ...recipe, rank: full }, { out });
    const [merged, ofTask, ofLanguage] = await Promise.all([out, task, language].map(changesOf));
    expect(
      [...(merged?.products.keys() ?? [])].filter((module) => /embed_tokens$/.test(module)),
    ).toHaveLength(1);
    for (const [module, product] of merged?.products ?? []) {
      const own = [ofTask, ofLanguage].map((one) => one?.products.get(module) ?? []);
      expect(distance(product, tiesOf(own, 0.3))).toBeLessThan(nearly);
    }
  });

  it("merge what is saved whole with the base's", async () => {
    const { base, task, language, root, out } = setUp({}, { saved: ['model.norm.weight'] });
    const parameters = { method: 'ties', base, weight: 1, density: 0.5, dtype: 'float32' } as const;
    await merge({ ...parameters, models: [task, language], rank: 4 }, { out });
    const whole = join(root, 'whole');
    await merge(
      { ...parameters, models: [`${base}+${task}`, `${base}+${language}`], dtype: 'float32' },
      { out: whole },
    );
    const saved = (await changesOf(out)).whole.get('model.norm.weight') ?? [];
    const { dtype, data } = (await readTensors(whole))['model.norm.weight'] ?? {
      dtype: 'F32',
      data: new Uint8Array(),
    };
    expect(saved).toHaveLength(16);
    expect(distance(saved, decode(dtype as 'F32', data))).toBeLessThan(1e-6);
  });

  it('refuse biases of B and statistics of whole models', async () => {
    const { task, language, root, out } = setUp();
    const bias = fill({ it: [16] }, 'F32', 5)['it'];
    const { tensors, ...beside } = llama();
    const base = writeCheckpoint(join(root, 'with-bias'), {
      ...beside,
      tensors: { ...tensors, ...(bias && { 'model.layers.0.self_attn.q_proj.bias': bias }) },
    });
    const name = 'base_model.model.model.layers.0.self_attn.q_proj.lora_B.bias';
    const biased = writeAdapter(
      join(root, 'biased'),
      withTensors(lora({ seed: 5, config: { lora_bias: true } }), { [name]: bias }),
    );
    const recipe = { method: 'ties', base, density: 0.5, rank: 4 } as const;
    await expect(merge({ ...recipe, weight: 1, models: [task, biased] }, { out })).rejects.toMatchObject({
      code: 'NO_ADAPTER_FORM',
      message: expect.stringContaining('is a bias of B'),
    });
    const ofPaper = { ...recipe, dialect: 'paper', models: [task, language] } as const;
    await expect(merge(ofPaper, { out })).rejects.toMatchObject({
      code: 'NO_ADAPTER_FORM',
      message: expect.stringContaining('statistics of whole models'),
    });
  });

  it('need a rank, which they name', async () => {
    const { base, task, language, out } = setUp();
    const recipe = { method: 'ties', base, models: [task, language], weight: 1, density: 0.4 } as const;
    await expect(merge(recipe, { out })).rejects.toMatchObject({
      code: 'NO_ADAPTER_FORM',
      message: expect.stringMatching(/is no sum of products: `rank: 'R'` gives the adapter of rank R/),
    });
    await expect(
      merge({ method: 'slerp', base: task, models: [language], t: 0.5, rank: 4 }, { out }),
    ).rejects.toMatchObject({ code: 'NO_ADAPTER_FORM' });
  });
});
