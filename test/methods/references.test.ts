import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { merge, planMerge, type RecipeInput } from '../../src/index.js';
import { type TensorFixture, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';
import { type Family, writeFamilyOf } from '../fixtures/family.js';
import { readTensors } from '../fixtures/merged.js';
import { decode, type Floating } from '../fixtures/numbers.js';
import {
  byColumns,
  byRows,
  combined,
  difference,
  dropped,
  droppedByRank,
  importances,
  largest,
  modelStock,
  nearSwap,
  nuslerp,
  ram,
  restored,
  sce,
  slerp,
  type Vector,
  withoutOutliers,
} from './by-hand.js';

// Slow disks.
vi.setConfig({ testTimeout: 180_000 });

/** Odd sizes, one dimension and three, one element and few. */
const shapes = {
  'model.layers.0.input_layernorm.weight': [37],
  'model.layers.0.mlp.up_proj.weight': [7, 33],
  'model.layers.0.conv.weight': [3, 5, 11],
  'model.layers.0.patch.weight': [4, 3, 2, 5],
  'model.layers.0.gate.weight': [1],
  'model.layers.0.q_norm.weight': [4],
  'model.norm.weight': [2053],
};

const units: Record<Floating, readonly [number, number]> = {
  F64: [2 ** -22, 0],
  F32: [2 ** -22, 0],
  F16: [2 ** -10, 2 ** -24],
  BF16: [2 ** -7, 0],
  F8_E4M3: [2 ** -3, 2 ** -9],
  F8_E5M2: [2 ** -2, 2 ** -16],
};

interface Models {
  readonly base: Vector;
  readonly a: Vector;
  readonly b: Vector;
  readonly c: Vector;
}

interface At {
  readonly name: string;
  readonly columns: number;
}

const weights = [0.75, 0.5, 1.25];

const changesOf = ({ base, a, b, c }: Models) => [a, b, c].map((x) => difference(x, base));

const entries = ({ a, b, c }: Family) => [a, b, c].map((model, index) => ({ model, weight: weights[index] }));

const taskVectors = (method: string, parameters: object) => (family: Family) => ({
  method,
  base: family.base,
  models: entries(family),
  ...parameters,
});

type Case = [string, (family: Family) => object, (models: Models, at: At) => number[]];

const seeded = (place: At, model: number) => `5/${place.name}/${model}`;

const pairOf = (a: string, b: string) =>
  ({ method: 'nuslerp', models: [a, b], weights: [0.75, 0.25] }) as const;

const cases: Case[] = [
  [
    'ties',
    taskVectors('ties', { density: 0.3, lambda: 0.9 }),
    (models) =>
      combined(
        models.base,
        changesOf(models).map((x) => largest(x, 0.3)),
        { weights, elects: 'weighted', divisor: 'weights', lambda: 0.9 },
      ),
  ],
  [
    'ties as in PEFT, with its norm restored',
    taskVectors('ties', { density: 0.4, dialect: 'peft', rescale: 'norm' }),
    (models) =>
      combined(
        models.base,
        changesOf(models).map((x) => restored(x, largest(x, 0.4, 0))),
        { weights, elects: 'plain', divisor: 'count' },
      ),
  ],
  [
    'breadcrumbs',
    taskVectors('breadcrumbs', { density: 0.5, gamma: 0.1 }),
    (models) =>
      combined(
        models.base,
        changesOf(models).map((x) => withoutOutliers(x, 0.5, 0.1)),
        { weights },
      ),
  ],
  [
    'breadcrumbs with an election',
    taskVectors('breadcrumbs_ties', { density: 0.6, gamma: 0.05, normalize: true }),
    (models) =>
      combined(
        models.base,
        changesOf(models).map((x) => withoutOutliers(x, 0.6, 0.05)),
        { weights, elects: 'weighted', divisor: 'weights' },
      ),
  ],
  [
    'dare',
    taskVectors('dare_linear', { density: 0.4, seed: 5, rescale: 'density' }),
    (models, place) =>
      combined(
        models.base,
        changesOf(models).map((x, t) => dropped(x, 0.4, seeded(place, t)).map((v) => v / 0.4)),
        { weights },
      ),
  ],
  [
    'dare with an election, norms restored',
    taskVectors('dare_ties', { density: 0.7, seed: 5 }),
    (models, place) =>
      combined(
        models.base,
        changesOf(models).map((x, t) => restored(x, dropped(x, 0.7, seeded(place, t)))),
        { weights, elects: 'weighted' },
      ),
  ],
  [
    'della',
    taskVectors('della', { density: 0.5, epsilon: 0.3, seed: 5 }),
    (models, place) =>
      combined(
        models.base,
        changesOf(models).map((x, t) =>
          restored(x, droppedByRank(x, 0.5, 0.3, seeded(place, t), place.columns)),
        ),
        { weights, elects: 'weighted', divisor: 'weights' },
      ),
  ],
  [
    'task arithmetic',
    taskVectors('task_arithmetic', { lambda: 0.5, normalize: true }),
    (models) =>
      combined(models.base, changesOf(models), { weights: weights.map((w) => w / 2.5), lambda: 0.5 }),
  ],
  [
    'sce',
    ({ base, a, b, c }) => ({ method: 'sce', base, models: [a, b, c], selectTopk: 0.4 }),
    (models) => sce(models.base, changesOf(models), 0.4),
  ],
  [
    'sce of all elements',
    ({ base, a, b }) => ({ method: 'sce', base, models: [a, b] }),
    (models) => sce(models.base, changesOf(models).slice(0, 2), 1),
  ],
  [
    'ram',
    ({ base, a, b, c }) => ({ method: 'ram', base, models: [a, b, c], epsilon: 0.004 }),
    (models) => ram(models.base, changesOf(models), 0.004),
  ],
  [
    'ramplus_tl',
    ({ base, a, b, c }) => ({
      ...{ method: 'ramplus_tl', base, models: [a, b, c] },
      ...{ epsilon: 0.004, r: 0.8, alpha: 0.9 },
    }),
    (models) => ram(models.base, changesOf(models), 0.004, { rate: 0.8, most: 0.9 }),
  ],
  [
    'nearswap',
    ({ base, a }) => ({ method: 'nearswap', base, models: [a], t: 0.002 }),
    ({ base, a }) => nearSwap(base, a, 0.002),
  ],
  [
    'nuslerp, row by row',
    ({ a, b }) => ({ ...pairOf(a, b), nuslerpFlatten: false }),
    ({ a, b }, { columns }) => byRows(columns, (x, y) => nuslerp(x, y, 0.25), a, b),
  ],
  [
    'nuslerp, column by column',
    ({ a, b }) => ({ ...pairOf(a, b), nuslerpFlatten: false, nuslerpRowWise: true }),
    ({ a, b }, { name }) => {
      const [rows = 1] = shapes[name as keyof typeof shapes];
      return byColumns(rows, (x, y) => nuslerp(x, y, 0.25), a, b);
    },
  ],
  [
    'slerp',
    ({ base, a }) => ({ method: 'slerp', base, models: [a], t: 0.35 }),
    ({ base, a }) => slerp(base, a, 0.35),
  ],
  [
    'slerp with an average made on the way',
    ({ base, a, b }) => ({
      method: 'slerp',
      base,
      models: [{ method: 'linear', models: [a, b], weights: [0.25, 0.75], dtype: 'float32' }],
      t: 0.5,
    }),
    ({ base, a, b }) =>
      slerp(
        base,
        a.map((x, i) => Math.fround(Math.fround(0.25 * x) + Math.fround(0.75 * (b[i] ?? 0)))),
        0.5,
      ),
  ],
  [
    'model stock, row by row',
    ({ base, a, b, c }) => ({ method: 'model_stock', base, models: [a, b, c], filterWise: true }),
    ({ base, a, b, c }, { columns }) =>
      byRows(columns, (own, ...models) => modelStock(own ?? [], models), base, a, b, c),
  ],
];

const models = ({ tensors }: Family, name: string): Models => {
  const of = ({ dtype, data }: TensorFixture) => decode(dtype as Floating, data);
  const named = (member: keyof Models) => of(tensors[member][name] as TensorFixture);
  return { base: named('base'), a: named('a'), b: named('b'), c: named('c') };
};

const merged = async (family: Family, recipe: object) => {
  const out = join(family.root, 'out');
  await merge(recipe as RecipeInput, { out, threads: 1, layout: 'size' });
  return await readTensors(out);
};

const columnsOf = (shape: readonly number[]) => shape.at(-1) ?? 1;

const few = ['ties', 'breadcrumbs', 'della', 'sce', 'nearswap', 'model stock, row by row'];

describe.each(Object.keys(units) as Floating[])('methods over %s', (dtype) => {
  const tried = ['BF16', 'F32'].includes(dtype) ? cases : cases.filter(([name]) => few.includes(name));

  it.each(tried)('give what an independent text gives: %s', async (_, recipe, expected) => {
    const family = writeFamilyOf(shapes, dtype);
    const tensors = await merged(family, recipe(family));
    const [relative, least] = units[dtype];
    for (const [name, shape] of Object.entries(shapes)) {
      const all = models(family, name);
      const want = expected(all, { name, columns: columnsOf(shape) });
      const { dtype: written, data } = tensors[name] as TensorFixture;
      const got = decode(written as Floating, data);
      // Rounded once to the dtype, after differences in the last bits of float32.
      const wrong = want.flatMap((x, i) =>
        Math.abs((got[i] ?? Number.NaN) - x) <= relative * Math.abs(x) + least + 2e-7
          ? []
          : [`${name}[${i}] is ${got[i]}, not ${x}`],
      );
      expect(got).toHaveLength(want.length);
      expect(wrong).toEqual([]);
    }
  });

  it('take of a fusion the elements of high importance, the others being the base’s', async () => {
    const family = writeFamilyOf(shapes, dtype);
    const tensors = await merged(family, { method: 'arcee_fusion', base: family.base, models: [family.a] });
    for (const [name, shape] of Object.entries(shapes)) {
      const { base, a } = models(family, name);
      const { importance, threshold } = importances(base, a, columnsOf(shape));
      const got = decode(dtype, tensors[name]?.data ?? new Uint8Array());
      const wrong = got.flatMap((x, i) => {
        // Divergences of the two implementations differ in their last bits.
        const isClose = Math.abs((importance[i] ?? 0) - threshold) <= 1e-6 * threshold;
        const fits = (from: Vector) => Math.abs(x - (from[i] ?? 0)) <= 2 ** -22 * Math.abs(x);
        const isRight = fits((importance[i] ?? 0) >= threshold ? a : base);
        return isRight || (isClose && (fits(a) || fits(base))) ? [] : [`${name}[${i}]`];
      });
      expect(wrong).toEqual([]);
    }
  });
});

describe('what is no weight', () => {
  const ids = (values: number[]): TensorFixture => ({
    dtype: 'U8',
    shape: [values.length],
    data: Uint8Array.from(values),
  });
  const norm: TensorFixture = { dtype: 'F32', shape: [1], data: new Uint8Array(4) };
  const write = (name: string, root: string, tensors: Record<string, TensorFixture>) =>
    writeCheckpoint(join(root, name), { tensors: { 'model.norm.weight': norm, ...tensors } });
  const methods = ['linear', 'ties', 'dare_linear', 'della', 'sce', 'model_stock'];

  it.each(methods)('must be the same in all models of %s, and is copied', async (method) => {
    const root = temporaryDirectory();
    const all = ['base', 'a', 'b'].map((name) => write(name, root, { ids: ids([1, 2, 3]) }));
    const other = write('other', root, { ids: ids([1, 2, 4]) });
    const recipe = (second: string) => ({
      method,
      base: all[0],
      models: [all[1], second],
      ...(['sce', 'model_stock'].includes(method) ? {} : { weight: 1 }),
    });
    const out = join(root, 'out');
    await merge(recipe(all[2] ?? '') as unknown as RecipeInput, { out });
    expect((await readTensors(out))['ids']?.data).toEqual(Buffer.from([1, 2, 3]));
    await expect(
      merge(recipe(other) as unknown as RecipeInput, { out: join(root, 'refused') }),
    ).rejects.toMatchObject({ code: 'NON_FLOATING_MISMATCH', exitCode: 3 });
  });

  it.each(methods)('is refused in %s where it is quantised', async (method) => {
    const root = temporaryDirectory();
    const quantised = { 'a.weight': norm, 'a.weight_scale': norm };
    const [base, ...models] = ['base', 'a', 'b'].map((name) => write(name, root, quantised));
    const weight = ['sce', 'model_stock'].includes(method) ? {} : { weight: 1 };
    await expect(
      planMerge({ method, base, models, ...weight } as unknown as RecipeInput),
    ).rejects.toMatchObject({ code: 'QUANTISED_WEIGHTS', exitCode: 3 });
    const plan = await planMerge({ method: 'passthrough', models: [models[0] as string] });
    expect(plan.cost.bytesComputed).toBe(0);
  });
});
