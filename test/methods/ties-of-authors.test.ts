import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { MergePlan } from '../../src/core/plan/plan.js';
import { shardKey } from '../../src/core/plan/shard-key.js';
import { explainTensor, merge, planMerge, type RecipeInput } from '../../src/index.js';
import {
  fill,
  type TensorFixture,
  type Tensors,
  temporaryDirectory,
  writeCheckpoint,
} from '../fixtures/checkpoints.js';
import { readTensors } from '../fixtures/merged.js';
import { decode, encode, generator } from '../fixtures/numbers.js';
import { difference, tiesOfAuthors, type Vector } from './by-hand.js';

type Numbers = Readonly<Record<string, Vector>>;

const toTensors = (numbers: Numbers): Tensors =>
  Object.fromEntries(
    Object.entries(numbers).map(([name, values]) => [
      name,
      { dtype: 'F32', shape: [values.length], data: encode('F32', values) },
    ]),
  );

const zeros = (numbers: Numbers): Numbers =>
  Object.fromEntries(Object.entries(numbers).map(([name, values]) => [name, values.map(() => 0)]));

const recipeOf = (root: string, models: readonly Tensors[], more: object): RecipeInput => {
  const [base, ...experts] = models.map((tensors, index) =>
    writeCheckpoint(join(root, `model-${index}`), { tensors }),
  );
  return { method: 'ties', dialect: 'paper', base, models: experts, weight: 1, ...more } as RecipeInput;
};

const mergedTensors = async (models: readonly Tensors[], more: object) => {
  const root = temporaryDirectory();
  const out = join(root, 'out');
  await merge(recipeOf(root, models, more), { out, threads: 2 });
  return await readTensors(out);
};

const merged = async (models: readonly Tensors[], more: object) => {
  const tensors = Object.entries(await mergedTensors(models, more));
  return Object.fromEntries(tensors.map(([name, { data }]) => [name, decode('F32', data)]));
};

const cancelling = (others: Vector): [Numbers, Numbers] => [
  { 'model.layers.0.up.weight': [1, 2, 4, 0], 'model.norm.weight': others },
  { 'model.layers.0.up.weight': [-1, 2, -4, 0], 'model.norm.weight': others },
];

const mergedOf = async ([a, b]: [Numbers, Numbers], density = 1) =>
  await merged([zeros(a), a, b].map(toTensors), { density });

describe('TIES as its authors have it', () => {
  it.each<[string, Vector, Vector]>([
    ['takes negative changes where signs cancel and − prevails', [-1, -1], [-1, 2, -4, 0]],
    ['takes positive changes where signs cancel and + prevails', [-9, 3, 0, 1], [1, 2, 4, 0]],
    ['takes negative changes where signs cancel and neither prevails', [-1], [-1, 2, -4, 0]],
  ])('%s in all tensors together', async (_, others, want) => {
    expect(await mergedOf(cancelling(others))).toEqual({
      'model.layers.0.up.weight': want,
      'model.norm.weight': others,
    });
  });

  it('counts for the majority only what stays of the changes', async () => {
    // The many small negative changes are below the threshold.
    const small = Array.from({ length: 20 }, () => -0.5);
    const got = await mergedOf(cancelling(small), 2 / 24);
    expect(got['model.layers.0.up.weight']).toEqual([1, 2, 4, 0]);
    const whole = await mergedOf(cancelling(small));
    expect(whole['model.layers.0.up.weight']).toEqual([-1, 2, -4, 0]);
  });

  it('keeps one magnitude more than the density says, and all that equal it', async () => {
    const change = { 'model.norm.weight': [4, -3, 2, 1, -2, 0.5] };
    const got = await merged([zeros(change), change].map(toTensors), { density: 1 / 3 });
    expect(got['model.norm.weight']).toEqual([4, -3, 2, 0, -2, 0]);
  });

  it('counts the signs of every block of a large tensor', async () => {
    const shape = [4097, 1024];
    const tensor = (values: readonly (readonly [number, number])[]): Tensors => {
      const data = new Float32Array(4097 * 1024);
      for (const [index, value] of values) data[index] = value;
      return { 'model.norm.weight': { dtype: 'F32', shape, data: new Uint8Array(data.buffer) } };
    };
    const last = 4097 * 1024 - 1;
    const common = [
      [1, 1],
      [last - 1, -1],
      [last, -1],
    ] as const;
    const models = [tensor([]), tensor([[0, 1], ...common]), tensor([[0, -1], ...common])];
    const { data } = (await mergedTensors(models, { density: 1 }))['model.norm.weight'] as TensorFixture;
    const at = (index: number) => decode('F32', data.subarray(4 * index, 4 * index + 4))[0];
    expect([0, 1, 2, last - 1, last].map(at)).toEqual([-1, 1, 0, -1, -1]);
  });

  it('says of a tensor which sign it takes where changes cancel', async () => {
    const wordsOf = async (others: Vector) => {
      const [a, b] = cancelling(others);
      const recipe = recipeOf(temporaryDirectory(), [zeros(a), a, b].map(toTensors), { density: 1 });
      return (await explainTensor(recipe, 'model.norm.weight')).words;
    };
    expect(await wordsOf([-1, -1])).toMatch(/ of one sign, − where they cancel$/);
    expect(await wordsOf([1, 1])).toMatch(/ of one sign$/);
  });

  it('gives a shard another key where the majority of the model turns', async () => {
    const planOf = async (others: Vector) => {
      const [a, b] = cancelling(others);
      return await planMerge(recipeOf(temporaryDirectory(), [zeros(a), a, b].map(toTensors), { density: 1 }));
    };
    const keyOf = ({ shards }: MergePlan) => {
      const shard = shards.find(({ tensors }) => tensors[0]?.layer === 0);
      return shardKey(shard?.tensors ?? [], ({ input, file }) => `${input} ${file}`);
    };
    const [negative, positive, again] = [
      await planOf([-1, -1]),
      await planOf([1, 1]),
      await planOf([-2, -1]),
    ];
    expect(keyOf(negative)).not.toBe(keyOf(positive));
    expect(keyOf(negative)).toBe(keyOf(again));
  });

  const shapes = {
    'model.layers.0.input_layernorm.weight': [37],
    'model.layers.0.mlp.up_proj.weight': [7, 33],
    'model.layers.0.conv.weight': [3, 5, 11],
    'model.layers.0.gate.weight': [1],
    'model.norm.weight': [2053],
  };

  /** Changes of few magnitudes, so that many cancel; `lean` makes more of them positive or negative. */
  const fineTuned = (base: Tensors, seed: number, lean: number): Tensors => {
    const random = generator(seed);
    const change = () => (random() < 0.3 ? 0 : (Math.floor(random() * 17) - 8 + lean) * 2 ** -10);
    return Object.fromEntries(
      Object.entries(base).map(([name, { shape, data }]) => {
        const values = decode('F32', data).map((x) => x + change());
        return [name, { dtype: 'F32', shape, data: encode('F32', values) }];
      }),
    );
  };

  it.each([
    [-1, [0.1, 0.3]],
    [1, [0.4, 0.2]],
    [-1, [0.5, 0.5, 0.7]],
    [1, [0.9, 0.5, 0.7]],
  ])('gives what an independent text gives: majority %d, densities %j', async (lean, densities) => {
    const base = fill(shapes, 'F32', 40);
    const experts = densities.map((_, index) => fineTuned(base, 50 + index, lean));
    const root = temporaryDirectory();
    const [origin = '', ...paths] = [base, ...experts].map((tensors, index) =>
      writeCheckpoint(join(root, `model-${index}`), { tensors }),
    );
    const out = join(root, 'out');
    await merge(
      {
        method: 'ties',
        base: origin,
        // A listed base has no vote.
        models: [origin, ...paths.map((model, index) => ({ model, density: densities[index] }))],
        weight: 1,
        dialect: 'paper',
      } as RecipeInput,
      { out },
    );
    const names = Object.keys(shapes);
    const flat = (tensors: Tensors) =>
      names.flatMap((name) => decode('F32', tensors[name]?.data ?? new Uint8Array()));
    const whole = flat(base);
    const want = tiesOfAuthors(
      whole,
      experts.map((expert) => difference(flat(expert), whole)),
      densities,
    );
    expect(want.majority).toBe(lean);
    expect(want.cancelled).toBeGreaterThan(2);
    const got = flat(await readTensors(out));
    const wrong = want.merged.flatMap((x, i) => (Math.abs((got[i] ?? Number.NaN) - x) > 1e-7 ? [i] : []));
    expect(got).toHaveLength(whole.length);
    expect(wrong).toEqual([]);
  });
});
