import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { describeRecipe } from '../../src/cli/text/plan-text.js';
import { merge, planMerge, type RecipeInput } from '../../src/index.js';
import { type Family, writeFamily } from '../fixtures/family.js';
import { readTensors } from '../fixtures/merged.js';

type Of<T> = (family: Family) => T;

const weighted = (...models: (string | RecipeInput)[]) =>
  models.map((model, index) => ({ model, weight: 1 + index / 2 }));

const soup: Of<RecipeInput> = ({ a, b, c }) => ({ method: 'soup', models: [a, b, c], weights: [2, 1, 1] });

const ties: Of<RecipeInput> = ({ base, a, b }) => ({
  method: 'ties',
  base,
  models: weighted(a, b),
  density: 0.4,
});

const combinations: [
  string,
  Of<Record<string, RecipeInput>>,
  (inner: Record<string, string>, family: Family) => unknown,
][] = [
  [
    'a swap of two soups',
    ({ a, b, c }) => ({
      task: { method: 'soup', models: [a, b, c] },
      language: { method: 'soup', models: [b, c], weights: [1, 3] },
    }),
    ({ task, language }) => ({ method: 'layer_swap', task, language, bottom: 1, top: 1, topTransition: 1 }),
  ],
  [
    'ties of task arithmetic',
    ({ base, a, b, c }) => ({
      sum: { method: 'task_arithmetic', base, models: weighted(a, b), lambda: 0.7 },
      other: { method: 'task_arithmetic', base, models: weighted(c) },
    }),
    ({ sum = '', other = '' }, { base }) => ({
      method: 'ties',
      base,
      models: weighted(sum, other),
      density: 0.3,
    }),
  ],
  [
    'slerp of ties',
    (family) => ({ ties: ties(family), soup: soup(family) }),
    (inner) => ({ method: 'slerp', base: inner['ties'], models: [inner['soup']], t: 0.3 }),
  ],
  [
    'a bfloat16 average of float32 ones',
    ({ a, b, c }) => ({
      one: { method: 'linear', models: weighted(a, b), dtype: 'float32' },
      other: { method: 'linear', models: weighted(b, c), dtype: 'float16' },
    }),
    ({ one = '', other = '' }) => ({ method: 'linear', models: weighted(one, other), dtype: 'bfloat16' }),
  ],
  [
    'a float32 sum of bfloat16 ones, which are rounded first',
    ({ a, b, c }) => ({ one: { method: 'linear', models: weighted(a, b, c), dtype: 'bfloat16' } }),
    ({ one = '' }, { a }) => ({ method: 'linear', models: weighted(one, a), dtype: 'float32' }),
  ],
  [
    'a swap of an expert reverted by location',
    ({ base, a }) => ({ task: { method: 'revert', base, model: a, bottom: 1, top: 1, others: 'revert' } }),
    ({ task }, { b }) => ({ method: 'layer_swap', task, language: b, bottom: 0, top: 1, others: 'task' }),
  ],
  [
    'a soup of experts reverted by rows',
    ({ base, a, b }) => ({
      one: { method: 'revert', base, model: a, targetKept: 0.5 },
      other: { method: 'revert', base, model: b, targetKept: 0.4, rows: 'output' },
    }),
    ({ one, other }) => ({ method: 'soup', models: [one, other], weights: [1, 2] }),
  ],
  [
    'random drops',
    ({ base, a, b, c }) => ({
      dare: { method: 'dare_linear', base, models: weighted(a, b), density: 0.5, seed: 7 },
      della: { method: 'della', base, models: weighted(b, c), density: 0.5, epsilon: 0.2, seed: 8 },
    }),
    ({ dare = '', della = '' }, { base }) => ({
      method: 'della_linear',
      base,
      models: weighted(dare, della),
      density: 0.6,
      epsilon: 0.1,
    }),
  ],
  [
    'a stack of layers that another merge has stacked',
    ({ base, a, b }) => ({
      stack: {
        method: 'passthrough',
        slices: [
          { sources: [{ model: a, layerRange: [0, 3] }] },
          { sources: [{ model: b, layerRange: [1, 4] }] },
        ],
      },
      ties: {
        method: 'ties',
        base,
        density: 0.5,
        slices: [{ sources: weighted(a, b).map((one) => ({ ...one, layerRange: [1, 4] })) }],
      },
    }),
    ({ stack, ties: of }) => ({
      method: 'passthrough',
      slices: [
        { sources: [{ model: of, layerRange: [0, 2] }] },
        { sources: [{ model: stack, layerRange: [2, 6], scale: 0.5 }] },
        { sources: [{ model: stack, layerRange: [0, 1] }] },
      ],
    }),
  ],
  [
    'means on a sphere, near swaps and fusions',
    ({ base, a, b, c }) => ({
      karcher: { method: 'karcher', models: [a, b, c] },
      near: { method: 'nearswap', base, models: [a], t: 0.003 },
      fusion: { method: 'arcee_fusion', base, models: [b] },
      sce: { method: 'sce', base, models: [a, b, c], selectTopk: 0.4 },
    }),
    ({ karcher, near, fusion, sce }, { base }) => ({
      method: 'model_stock',
      base,
      models: [karcher, near, fusion, sce],
    }),
  ],
];

describe('a recipe in a recipe', () => {
  it.each(combinations)('gives the bits of two steps: %s', async (_, innerOf, outerOf) => {
    const family = writeFamily({ layers: 4 });
    const inner = innerOf(family);
    const written: Record<string, string> = {};
    for (const [name, recipe] of Object.entries(inner)) {
      written[name] = join(family.root, `step-${name}`);
      await merge(recipe, { out: written[name] });
    }
    const outer = (of: Record<string, unknown>) =>
      outerOf(of as Record<string, string>, family) as RecipeInput;
    await merge(outer(written), { out: join(family.root, 'two') });
    await merge(outer(inner), { out: join(family.root, 'one') });
    expect(await readTensors(join(family.root, 'one'))).toEqual(await readTensors(join(family.root, 'two')));
  });

  it('may stand in another one in another one', async () => {
    const family = writeFamily({ layers: 3 });
    const { root, base, a, c } = family;
    const middle = { method: 'slerp', base: ties(family), models: [soup(family)], t: 0.5 };
    const outer = (model: unknown) =>
      ({ method: 'ties', base, models: weighted(model as RecipeInput, a, c), density: 0.5 }) as RecipeInput;
    await merge(middle as unknown as RecipeInput, { out: join(root, 'middle') });
    await merge(outer(join(root, 'middle')), { out: join(root, 'two') });
    await merge(outer(middle), { out: join(root, 'one') });
    expect(await readTensors(join(root, 'one'))).toEqual(await readTensors(join(root, 'two')));
  });

  it('has the magnitude weights of what it makes, written out', async () => {
    const family = writeFamily({ layers: 3 });
    const { root, base, b } = family;
    const recipe = (task: unknown) =>
      ({
        method: 'layer_swap',
        task,
        language: b,
        base,
        bottom: 1,
        top: 1,
        weights: 'magnitude',
      }) as RecipeInput;
    const weightsOf = async (task: unknown) =>
      (await planMerge(recipe(task))).recipe['magnitude_weights'] as number[];
    await merge(soup(family), { out: join(root, 'soup') });
    const [nested, written] = [await weightsOf(soup(family)), await weightsOf(join(root, 'soup'))];
    for (const [index, weight] of nested.entries())
      expect(Math.abs(weight - (written[index] ?? 0))).toBeLessThan(1e-6);
  });

  it('has thresholds over the whole model, as TIES’ authors have them', async () => {
    const family = writeFamily({ layers: 3 });
    const { root, base, c } = family;
    const recipe = (model: unknown) =>
      ({
        method: 'ties',
        base,
        models: weighted(model as string, c),
        density: 0.2,
        dialect: 'paper',
      }) as RecipeInput;
    await merge(soup(family), { out: join(root, 'soup') });
    await merge(recipe(join(root, 'soup')), { out: join(root, 'two') });
    await merge(recipe(soup(family)), { out: join(root, 'one') });
    expect(await readTensors(join(root, 'one'))).toEqual(await readTensors(join(root, 'two')));
  });

  it('writes no checkpoint on the way, and measures with one more reading of each input', async () => {
    const family = writeFamily({ layers: 3 });
    const { root, base } = family;
    const plan = await planMerge({
      method: 'slerp',
      base,
      models: [soup(family)],
      t: 0.5,
    });
    expect(plan.inputs.map(({ path }) => path).sort()).toEqual(
      ['a', 'b', 'base', 'c'].map((name) => join(root, name)),
    );
    expect(plan.cost.bytesToMeasure).toBe(plan.cost.bytesToRead);
  });
});

describe('what a merge of merges records', () => {
  it('is every recipe with its parameters, and the checkpoints that went in', async () => {
    const family = writeFamily({ layers: 3 });
    const { base, c } = family;
    const plan = await planMerge({
      method: 'ties',
      base,
      models: [
        { model: soup(family), weight: 2 },
        { model: { ...ties(family), dtype: 'float32' }, weight: 1 },
        { model: c, weight: 1 },
      ],
      density: [{ filter: 'mlp', value: 0.5 }, { value: 0.25 }],
    });
    const made = { method: 'soup', models: ['a', 'b', 'c'], weights: [2, 1, 1] };
    expect(plan.recipe).toMatchObject({
      base: 'base',
      models: [
        { model: made, weight: 2 },
        { model: { method: 'ties', base: 'base', density: 0.4, dtype: 'float32' }, weight: 1 },
        { model: 'c', weight: 1 },
      ],
    });
    const card = plan.files.find(({ name }) => name === 'README.md');
    const text = card !== undefined && 'text' in card ? card.text : '';
    expect(text).toContain('# TIES of soup(a, b, c), ties(a, b, base), c and base\n');
    expect(text).toContain('  - model:\n      method: soup\n      models:\n        - ./a\n');
    expect(describeRecipe(plan).replace(/\s+/g, ' ')).toMatch(
      /density \[\{filter: mlp, value: 0\.5\}, \{value: 0\.25\}\]/,
    );
  });

  it('names the recipe in a role', async () => {
    const family = writeFamily({ layers: 3 });
    const recipe = { method: 'layer_swap', task: soup(family), language: family.b, bottom: 1, top: 1 };
    const plan = await planMerge(recipe as RecipeInput);
    expect(plan.recipe).toMatchObject({ task: { method: 'soup' }, language: 'b', bottom: 1 });
  });

  it('swaps into an expert whose swapped layers are reverted what it swaps into the expert', async () => {
    const { root, base, a, b } = writeFamily({ layers: 4 });
    const counts = { bottom: 2, top: 1 };
    const swapped = async (task: string | RecipeInput, name: string) => {
      const out = join(root, name);
      await merge({ method: 'layer_swap', task, language: b, ...counts }, { out });
      return readTensors(out);
    };
    const reverted: RecipeInput = { method: 'revert', model: a, base, ...counts };
    expect(await swapped(reverted, 'of-reverted')).toEqual(await swapped(a, 'of-expert'));
  });
});
