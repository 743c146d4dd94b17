import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { merge, type RecipeInput } from '../../src/index.js';
import { type Tensors, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';
import { readTensors } from '../fixtures/merged.js';
import { decode, encode } from '../fixtures/numbers.js';
import type { Vector } from './by-hand.js';

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

describe('TIES as its authors have it', () => {
  it('keeps one magnitude more than the density says, and all that equal it', async () => {
    const change = { 'model.norm.weight': [4, -3, 2, 1, -2, 0.5] };
    const got = await merged([zeros(change), change].map(toTensors), { density: 1 / 3 });
    expect(got['model.norm.weight']).toEqual([4, -3, 2, 0, -2, 0]);
  });
});
