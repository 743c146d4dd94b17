import { writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { exportRecipe, type MergePlan, planMerge, type RecipeInput } from '../../src/index.js';
import { lora, writeAdapter } from '../fixtures/adapters.js';
import { llama, llamaConfig, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';
import { everyMethod } from '../fixtures/every-method.js';
import { type Family, writeFamily } from '../fixtures/family.js';
import { fusedMixture, mixtureConfig, separateMixture } from '../fixtures/mixtures.js';

const tensorsOf = ({ shards, inputs }: MergePlan) =>
  new Map(
    shards
      .flatMap(({ tensors }) => tensors)
      .map(({ name, dtype, shape, expression }) => [
        name,
        {
          dtype,
          shape,
          expression: JSON.parse(
            JSON.stringify(expression, (key, value: unknown) =>
              key === 'input' ? inputs[value as number]?.path : value,
            ),
          ) as unknown,
        },
      ]),
  );

const exported = async (recipe: RecipeInput, { root }: Family) => {
  const { text, notes } = await exportRecipe(recipe);
  const file = join(root, 'exported.yaml');
  writeFileSync(file, text);
  return { text, notes, file, recipe: parse(text) as Record<string, unknown> };
};

/** A model's path from the working directory, which mergekit's recipes are relative to. */
const written = (path: string): string => relative(process.cwd(), path);

/** Recipes of everyMethod that mergekit's dialect cannot express. */
const unsaid: Readonly<Record<string, RegExp>> = {
  'ties-paper': /dialect paper of ties/,
  'ties-peft': /dialect peft of ties/,
  dare_linear: /rescale: density/,
  iso_c: /method iso_c; mergekit has no such method/,
  tsv_m: /method tsv_m; mergekit has no such method/,
  revert: /rows that are reverted one by one/,
  nested: /a recipe in the place of a model/,
};

const swaps: Readonly<Record<string, object>> = {
  'a swap': { bottom: 2, top: 1 },
  'a swap with transitions': { bottom: 1, top: 1, bottomTransition: 1, topTransition: 1, weights: [1, 3] },
  'a swap with averaged norms': { bottom: 1, top: 1, norms: 'average' },
  'a swap of the others too': { bottom: 2, top: 1, others: 'lang' },
  'a swap with the task’s others': { bottom: 2, top: 0, others: 'task' },
};

const swap = ({ a, b }: Pick<Family, 'a' | 'b'>, parameters: object) =>
  ({ method: 'layer_swap', task: a, language: b, ...parameters }) as RecipeInput;

const recipesOf = (family: Pick<Family, 'base' | 'a' | 'b' | 'c'>): Record<string, RecipeInput> => {
  const { base, a, b } = family;
  return {
    ...everyMethod(family),
    ...Object.fromEntries(
      Object.entries(swaps).map(([name, parameters]) => [name, swap(family, parameters)]),
    ),
    'a swap with layers of the base': swap(family, { base, langLayers: '0,5', baseLayers: '2-3' } as object),
    'a swap of parts': {
      method: 'layer_swap',
      parts: [
        { model: b, layers: '0-1', modules: 'attention' },
        { model: family.c, layers: 2 },
        { models: [a, b], weights: [3, 1], layers: 'outside' },
        { model: a, layers: 'rest' },
      ],
    },
    'a swap of an average of three': {
      method: 'layer_swap',
      parts: [
        { models: [a, b, family.c], weights: [1, 2, 4], layers: 2 },
        { model: a, layers: 'rest' },
      ],
    },
    'a revert of layers': { method: 'revert', base, model: a, bottom: 2, top: 1 },
    'a revert of the middle': { method: 'revert', base, model: a, bottom: 2, top: 1, keep: 'top_bottom' },
    'a revert of some modules': { method: 'revert', base, model: a, bottom: 2, top: 1, modules: 'mlp' },
    'a stack of layers': {
      method: 'passthrough',
      slices: [
        { sources: [{ model: a, layerRange: [0, 4] }] },
        {
          sources: [{ model: b, layerRange: [2, 6], scale: [{ filter: 'o_proj', value: 0 }, { value: 1 }] }],
        },
      ],
    },
    'ties of slices without the base among them': {
      ...{ method: 'ties', base, weight: 1, density: 0.5 },
      slices: [
        {
          sources: [
            { model: a, layerRange: [0, 6] },
            { model: b, layerRange: [0, 6] },
          ],
        },
      ],
    },
  };
};

const names = Object.keys(recipesOf({ base: 'base', a: 'a', b: 'b', c: 'c' }));

describe('a recipe exported for mergekit', () => {
  const write = () => writeFamily({ layers: 6 });

  it.each(names.filter((name) => !(name in unsaid)))('makes the same tensors again: %s', async (name) => {
    const family = write();
    const recipe = recipesOf(family)[name] as RecipeInput;
    const { file } = await exported(recipe, family);
    const again = await planMerge(file, { strict: true });
    expect(again.warnings).toEqual([]);
    expect(tensorsOf(again)).toEqual(tensorsOf(await planMerge(recipe)));
  });

  it.each(Object.entries(unsaid))('names what it cannot say: %s', async (name, message) => {
    await expect(exportRecipe(recipesOf(write())[name] as RecipeInput)).rejects.toMatchObject({
      ...{ code: 'EXPORT_UNSUPPORTED', exitCode: 2 },
      message: expect.stringMatching(message) as string,
    });
  });

  it.each([{}, { rank: 3 }])('does not say that merges of bare adapters give adapters: %j', async (rank) => {
    const root = temporaryDirectory();
    const models = [1, 2].map((seed) => writeAdapter(join(root, `lora-${seed}`), lora({ seed })));
    await expect(exportRecipe({ method: 'soup', models, ...rank })).rejects.toMatchObject({
      code: 'EXPORT_UNSUPPORTED',
      message: expect.stringContaining('an adapter as the output') as string,
    });
  });

  it('has slices with weights for a swap, and filters for what is outside the layers', async () => {
    const family = write();
    const [a, b] = [written(family.a), written(family.b)];
    const { recipe } = await exported(swap(family, { bottom: 2, top: 1 }), family);
    const outside = (...names: string[]) => names.map((filter) => ({ filter, value: 0.5 }));
    const source = (model: string, weight: unknown) =>
      expect.objectContaining({ model, parameters: { weight } }) as unknown;
    const slices = recipe['slices'] as { sources: unknown[] }[];
    expect(recipe).toMatchObject({ merge_method: 'linear', base_model: a, parameters: { normalize: false } });
    expect(slices).toHaveLength(3);
    // mergekit takes the final norm from the last slice if it has a table of the family, else from the first.
    expect(slices[0]?.sources).toEqual([
      source(a, [...outside('model.embed_tokens.weight', 'model.norm.weight'), { value: 0 }]),
      source(b, [...outside('model.embed_tokens.weight', 'model.norm.weight'), { value: 1 }]),
    ]);
    expect(slices[2]?.sources).toEqual([
      source(a, [...outside('model.norm.weight'), { value: 0 }]),
      source(b, [...outside('model.norm.weight'), { value: 1 }]),
    ]);
    expect(slices[1]?.sources).toEqual([source(a, 1), source(b, 0)]);
  });

  it('says that averages of three are added in another order, where they are', async () => {
    const family = writeFamily({ layers: 4 });
    const { a, b, c } = family;
    const notesOf = async (models: string[]) => {
      const parts = [
        { models, layers: 1 },
        { model: a, layers: 'rest' },
      ];
      return (await exported({ method: 'layer_swap', parts } as RecipeInput, family)).notes;
    };
    expect(await notesOf([a, b, c])).toEqual([]);
    expect(await notesOf([b, a])).toEqual([]);
    expect(await notesOf([b, a, c])).toEqual([expect.stringContaining('in another order')]);
  });

  it('copies where all is copied', async () => {
    const family = write();
    const [a, b] = [written(family.a), written(family.b)];
    const { recipe } = await exported(swap(family, { bottom: 2, top: 1, others: 'lang' }), family);
    expect(recipe).toEqual({
      merge_method: 'passthrough',
      base_model: a,
      slices: [
        { sources: [{ model: b, layer_range: [0, 2] }] },
        { sources: [{ model: a, layer_range: [2, 5] }] },
        { sources: [{ model: b, layer_range: [5, 6] }] },
      ],
      dtype: 'float32',
      out_dtype: 'bfloat16',
    });
  });

  it('says that random draws differ, and keeps layout to itself', async () => {
    const family = write();
    const dare = everyMethod(family)['dare_ties'] as RecipeInput;
    const { text, notes } = await exported(dare, family);
    expect(notes).toEqual(['mergekit draws other random numbers, so that its result differs']);
    expect(text).toMatch(/^# mergekit draws/);
    await expect(exportRecipe({ ...dare, layout: 'size' } as RecipeInput)).rejects.toThrow(
      /cannot say layout; .*--out-shard-size/,
    );
  });

  it('says that mergekit merges the experts of a layer as one', async () => {
    const root = temporaryDirectory();
    const forms = { fused: fusedMixture, separate: separateMixture };
    for (const [form, make] of Object.entries(forms)) {
      const of = (name: string, seed: number) =>
        writeCheckpoint(join(root, form, name), { tensors: make({ seed }), config: mixtureConfig() });
      const [base, a, b] = [of('base', 1), of('a', 2), of('b', 3)];
      const notesOf = async (method: string) =>
        (
          await exportRecipe({
            method,
            base,
            models: [a, b].map((model) => ({ model, weight: 1 })),
          } as RecipeInput)
        ).notes;
      expect(await notesOf('ties')).toEqual([
        'mergekit merges all experts of a layer as one tensor, so that ties of these differs',
      ]);
      expect(await notesOf('task_arithmetic')).toEqual([]);
    }
  });

  it('says which tensors of a stack mergekit takes from another slice, in families without a table', async () => {
    const root = temporaryDirectory();
    const notesOf = async (model_type: string, models: readonly string[]) => {
      for (const name of ['a', 'b'])
        writeCheckpoint(join(root, model_type, name), {
          ...llama({ layers: 2 }),
          config: { ...llamaConfig({ layers: 2 }), model_type },
        });
      const slices = models.map((name) => ({
        sources: [{ model: join(root, model_type, name), layerRange: [0, 2] }],
      }));
      return (await exportRecipe({ method: 'passthrough', slices } as unknown as RecipeInput)).notes;
    };
    expect(await notesOf('smollm3', ['a', 'b'])).toEqual([
      'mergekit has no table of smollm3, and takes tensors outside layers from the first slice, layerloom from the last: model.norm.weight differs',
    ]);
    expect(await notesOf('smollm3', ['a', 'b', 'a'])).toEqual([]);
    expect(await notesOf('llama', ['a', 'b'])).toEqual([]);
  });

  it('warns where mergekit has a table whose tensors models of transformers 5 lack', async () => {
    const root = temporaryDirectory();
    const notesOf = async (model_type: string) => {
      const directory = join(root, model_type);
      writeCheckpoint(directory, {
        ...llama({ layers: 2, tied: true }),
        config: { ...llamaConfig({ layers: 2, tied: true }), model_type },
      });
      return (await exportRecipe({ method: 'linear', models: [directory], weights: [1] })).notes;
    };
    expect(await notesOf('falcon')).toEqual([
      "mergekit's table of falcon requires tensors lm_head.weight, which these models lack: it refuses to merge them",
    ]);
    expect(await notesOf('mistral')).toEqual([]);
  });

  it('names models that mergekit would split as mappings, and leaves names out', async () => {
    const family = write();
    const { b } = family;
    const odd = writeCheckpoint(join(family.root, 'a+b@c'), {
      tensors: family.tensors.a,
      config: llamaConfig({ layers: 6 }),
    });
    const { recipe, file } = await exported({ method: 'soup', models: [odd, `mine=${b}`] }, family);
    expect(recipe['models']).toEqual([
      { model: { model: { path: written(odd) } }, parameters: { weight: 0.5 } },
      { model: written(b), parameters: { weight: 0.5 } },
    ]);
    expect((await planMerge(file)).inputs.map(({ path }) => path)).toEqual([odd, b]);
  });

  it('names a local adapter as lora', async () => {
    const family = writeFamily();
    const adapter = writeAdapter(join(family.root, 'lora'), lora());
    const { recipe, file } = await exported(
      { method: 'soup', models: [`${family.a}+${adapter}`, family.b] },
      family,
    );
    const entry = { model: { path: written(family.a) }, lora: { path: written(adapter) } };
    expect(recipe['models']).toMatchObject([{ model: entry }, { model: written(family.b) }]);
    const ours = await planMerge({ method: 'soup', models: [`${family.a}+${adapter}`, family.b] });
    expect(tensorsOf(await planMerge(file))).toEqual(tensorsOf(ours));
  });
});
