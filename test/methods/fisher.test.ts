import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  type FisherParameters,
  LayerloomError,
  merge,
  planMerge,
  type RecipeInput,
} from '../../src/index.js';
import { lora, writeAdapter } from '../fixtures/adapters.js';
import {
  type TensorFixture,
  type Tensors,
  temporaryDirectory,
  writeCheckpoint,
} from '../fixtures/checkpoints.js';
import { type Family, writeFamilyOf } from '../fixtures/family.js';
import { importancesOf, writeImportances } from '../fixtures/importances.js';
import { readTensors } from '../fixtures/merged.js';
import { decode, encode, type Floating, roundTo } from '../fixtures/numbers.js';
import { writeVocabulary } from '../fixtures/vocabulary.js';

const { fround } = Math;

const shapes = {
  'model.layers.0.input_layernorm.weight': [37],
  'model.layers.0.mlp.up_proj.weight': [7, 133],
  'model.layers.0.conv.weight': [3, 5, 11],
  'model.norm.weight': [1],
};
const matrix = 'model.layers.0.mlp.up_proj.weight';
const experts = ['a', 'b', 'c'] as const;

const withImportances = (family: Family, dtype: Floating = 'F32') => {
  const importances = experts.map((name, seed) => importancesOf(family.tensors[name], 90 + seed, dtype));
  const files = importances.map((tensors, index) =>
    writeImportances(family.root, experts[index] ?? '', tensors),
  );
  const recipe = {
    method: 'fisher',
    models: experts.map((name) => family[name]),
    importances: files,
  } satisfies RecipeInput;
  return { family, importances, recipe };
};

const make = (dtype: Floating = 'BF16', of: Floating = 'F32') =>
  withImportances(writeFamilyOf(shapes, dtype), of);

const numbersIn = (tensors: Tensors, name: string): number[] => {
  const { dtype, data } = tensors[name] as TensorFixture;
  return decode(dtype as Floating, data).map(fround);
};

/**
 * Fisher-weighted averaging by the paper's equation and docs/methods.md, each operation rounded to float32.
 */
const byHand = (
  values: readonly (readonly number[])[],
  importances: readonly (readonly number[])[],
  weights: readonly number[],
  eps: number,
): number[] => {
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return (values[0] ?? []).map((_, at) => {
    const terms = values.map((x, model) => {
      const importance = fround((importances[model]?.[at] ?? 0) + fround(eps));
      const weight = fround(fround((weights[model] ?? 0) / total) * importance);
      return { weight, product: fround(weight * (x[at] ?? 0)) };
    });
    const sum = terms.map(({ product }) => product).reduce((a, b) => fround(a + b));
    return fround(sum / terms.map(({ weight }) => weight).reduce((a, b) => fround(a + b)));
  });
};

const mergedBy = async (family: Family, recipe: RecipeInput): Promise<Tensors> => {
  const out = join(family.root, `out-${Math.random()}`);
  await merge(recipe, { out, threads: 1, layout: 'size' });
  return await readTensors(out);
};

describe('a Fisher-weighted average', () => {
  it.each<[Floating, Floating]>([
    ['BF16', 'F32'],
    ['F32', 'F32'],
    ['F16', 'BF16'],
    ['F64', 'F64'],
  ])('of %s by importances in %s has the bits of its formula', async (dtype, of) => {
    const { family, importances, recipe } = make(dtype, of);
    for (const [weights, eps] of [
      [undefined, undefined],
      [[3, 1, 0.7], 1e-9],
    ] as const) {
      const tensors = await mergedBy(family, { ...recipe, weights, eps });
      for (const name of Object.keys(shapes)) {
        const expected = byHand(
          experts.map((expert) => numbersIn(family.tensors[expert], name)),
          importances.map((one) => numbersIn(one, name)),
          weights ?? [1, 1, 1],
          eps ?? 1e-6,
        ).map((x) => roundTo(dtype, x));
        expect(decode(dtype, (tensors[name] as TensorFixture).data), name).toEqual(expected);
      }
    }
  });

  it('is nearly the model whose importance is far above the others', async () => {
    const { family, recipe } = make('F32');
    const all = (value: number): Tensors =>
      Object.fromEntries(
        Object.entries(family.tensors.a).map(([name, { shape, data }]) => [
          name,
          { dtype: 'F32', shape, data: encode('F32', new Array(data.length / 4).fill(value)) },
        ]),
      );
    for (const [index, value] of [1, 1e-9, 0].entries())
      writeImportances(family.root, experts[index] ?? '', all(value));
    const tensors = await mergedBy(family, { ...recipe, eps: 1e-12 });
    const got = numbersIn(tensors, matrix);
    for (const [at, x] of numbersIn(family.tensors.a, matrix).entries()) expect(got[at]).toBeCloseTo(x, 7);
  });

  it('reads neither a model of weight 0 nor its importances, and is a copy of one alone', async () => {
    const { recipe } = make();
    const plan = await planMerge({ ...recipe, weights: [1, 0, 0] });
    expect(plan.shards.flatMap(({ tensors }) => tensors.map(({ expression }) => expression.kind))).toEqual(
      Object.keys(shapes).map(() => 'copy'),
    );
    const two = await planMerge({ ...recipe, weights: [1, 0, 1] });
    const elements = Object.values(shapes)
      .map((shape) => shape.reduce((count, extent) => count * extent, 1))
      .reduce((a, b) => a + b);
    expect(two.cost.bytesToRead).toBe(elements * 2 * (2 + 4));
  });

  it('averages tensors that no file has importances of by the weights alone, and says so', async () => {
    const { family, importances, recipe } = make('F32');
    for (const [index, tensors] of importances.entries()) {
      const { [matrix]: _, ...rest } = tensors;
      writeImportances(family.root, experts[index] ?? '', rest);
    }
    const plan = await planMerge(recipe);
    expect(plan.warnings).toContain(
      `no file has importances of ${matrix}: averaged by the models' weights alone`,
    );
    const soup = await mergedBy(family, { method: 'soup', models: recipe.models });
    const tensors = await mergedBy(family, recipe);
    expect(tensors[matrix]).toEqual(soup[matrix]);
    expect(tensors['model.norm.weight']).not.toEqual(soup['model.norm.weight']);
  });

  it('takes integers that are equal in all models, without importances', async () => {
    const { family, recipe } = make('F32');
    const ids = { dtype: 'I64', shape: [1], data: Buffer.alloc(8, 3) };
    for (const name of experts)
      writeCheckpoint(family[name], { tensors: { ...family.tensors[name], 'model.position_ids': ids } });
    const tensors = await mergedBy(family, recipe);
    expect(tensors['model.position_ids']?.data).toEqual(ids.data);
  });

  it('is made again from its record, and from a recipe whose files are beside it', async () => {
    const { family, recipe } = make();
    const out = join(family.root, 'first');
    await merge(recipe, { out, threads: 1, layout: 'size' });
    const weights = readFileSync(join(out, 'model.safetensors'));
    for (const [index, again] of [join(out, 'layerloom.json'), join(family.root, 'fisher.yaml')].entries()) {
      writeFileSync(
        join(family.root, 'fisher.yaml'),
        'method: fisher\nmodels: [./a, ./b, ./c]\nimportances: [a.fisher.safetensors, b.fisher.safetensors, c.fisher.safetensors]\n',
      );
      const other = join(family.root, `again-${index}`);
      await merge(again, { out: other, threads: 1, layout: 'size' });
      expect(readFileSync(join(other, 'model.safetensors'))).toEqual(weights);
    }
    const card = readFileSync(join(out, 'README.md'), 'utf8');
    expect(card).toContain('# Fisher merging of a, b and c\n');
    expect(card).toContain('2111.09832');
  });

  it('stands in the place of a model, and averages recipes', async () => {
    const { family, recipe } = make('F32');
    const inner = await mergedBy(family, recipe);
    writeCheckpoint(join(family.root, 'inner'), { tensors: inner });
    const outer = (model: RecipeInput | string): RecipeInput => ({
      method: 'soup',
      models: [model, family.base],
    });
    const nested = await mergedBy(family, outer(recipe));
    expect(nested).toEqual(await mergedBy(family, outer(join(family.root, 'inner'))));
    const soup = { method: 'soup', models: [family.a, family.b] } satisfies RecipeInput;
    writeCheckpoint(join(family.root, 'soup'), { tensors: await mergedBy(family, soup) });
    const of = (model: RecipeInput | string): RecipeInput => ({
      ...recipe,
      models: [model, family.c],
      importances: recipe.importances.slice(0, 2),
    });
    const plan = await planMerge(of(soup));
    expect(plan.recipe).toMatchObject({
      models: [{ method: 'soup' }, 'c'],
      importances: ['a.fisher', 'b.fisher'],
    });
    expect(await mergedBy(family, of(soup))).toEqual(await mergedBy(family, of(join(family.root, 'soup'))));
  });
});

describe('a Fisher-weighted average is refused', () => {
  const refusal = async (recipe: RecipeInput, out: string): Promise<string> => {
    try {
      await merge(recipe, { out, threads: 1 });
      return 'not refused';
    } catch (error) {
      if (!(error instanceof LayerloomError)) throw error;
      return `${error.code}: ${error.message}`;
    }
  };

  it.each<[string, Partial<FisherParameters>, string]>([
    [
      'without importances',
      { importances: undefined as never },
      'importances is missing: expected a file for each model, in their order, which `python -m layerloom.train.importances` makes',
    ],
    [
      'with a file too few',
      { importances: ['x', 'y'] },
      'importances: expected one file for each model, in their order',
    ],
    [
      'with a weight too few',
      { weights: [1, 2] },
      'weights: expected one weight for each model, in their order',
    ],
    ['with a negative weight', { weights: [1, 2, -1] }, 'weights: expected weights of 0 or more'],
    ['with an eps of 0', { eps: 0 }, 'eps: expected a number from 1e-30 to 1'],
    ['with an eps that is no number', { eps: Number.NaN }, 'eps: expected a number from 1e-30 to 1'],
    ['with one model', { models: ['x'] }, 'models: expected two models or more'],
    [
      'with a file that is not there',
      { importances: ['/nowhere/x.safetensors', '/nowhere/y.safetensors', '/nowhere/z.safetensors'] },
      'importances.0: expected the file of importances that `python -m layerloom.train.importances` makes, which is not there',
    ],
  ])('%s', async (_, change, message) => {
    const { family, recipe } = make();
    expect(await refusal({ ...recipe, ...change }, join(family.root, 'out'))).toContain(message);
  });

  it('where models differ in their vocabularies, in whose rows importances are', async () => {
    const models = [
      ['x', 'y', 'z'],
      ['x', 'z', 'y'],
    ].map((tokens, seed) => writeVocabulary(join(temporaryDirectory(), `v${seed}`), { tokens, seed }));
    expect(
      await refusal(
        { method: 'fisher', models, importances: models, tokenizer: { source: 'union' } },
        join(temporaryDirectory(), 'out'),
      ),
    ).toContain('models of one vocabulary, in whose rows the importances of embeddings are');
  });

  it('where models are bare adapters', async () => {
    const { family, recipe } = make();
    const adapters = experts.map((name, seed) =>
      writeAdapter(join(family.root, `lora-${name}`), lora({ seed })),
    );
    expect(await refusal({ ...recipe, models: adapters }, join(family.root, 'out'))).toContain('FORMS_MIXED');
  });

  const changed = async (change: (tensors: Tensors) => Tensors, given = make()): Promise<string> => {
    const { family, importances, recipe } = given;
    writeImportances(family.root, 'b', change(importances[1] ?? {}));
    return await refusal(recipe, join(family.root, 'out'));
  };
  const withValue = (value: number) => (tensors: Tensors) => {
    const values = numbersIn(tensors, matrix);
    values[140] = value;
    return {
      ...tensors,
      [matrix]: { ...(tensors[matrix] as TensorFixture), data: encode('F32', values) },
    };
  };

  it('where an importance is no number, with its file, tensor and index', async () => {
    for (const value of [Number.NaN, Number.POSITIVE_INFINITY])
      expect(await changed(withValue(value))).toMatch(
        new RegExp(`^NON_FINITE: .*${matrix}\\[1, 7\\] of .*b\\.fisher\\.safetensors \\(${value}\\)`),
      );
  });

  it('where an importance is negative, with tensor and index', async () => {
    expect(await changed(withValue(-1e-9))).toContain(
      `${matrix}[1, 7] of the output (NaN, of finite inputs: beyond its dtype, or of a negative importance)`,
    );
  });

  it('where a file has another shape, lacks a tensor, has integers or none of the names', async () => {
    const found = await changed((tensors) => ({
      ...tensors,
      [matrix]: { ...(tensors[matrix] as TensorFixture), shape: [133, 7] },
    }));
    expect(found).toMatch(/^SHAPE_MISMATCH: .*b\.fisher\.safetensors/s);
    expect(await changed(({ [matrix]: _, ...rest }) => rest)).toContain(
      `importances of the same tensors in each file, and this has none of ${matrix}`,
    );
    expect(
      await changed((tensors) => ({
        ...tensors,
        [matrix]: { dtype: 'I32', shape: [7, 133], data: new Uint8Array(7 * 133 * 4) },
      })),
    ).toContain(`importances that are floating numbers, and ${matrix} is I32`);
    const given = make();
    for (const name of experts)
      writeImportances(given.family.root, name, {
        x: { dtype: 'F32', shape: [1], data: new Uint8Array(4) },
      });
    expect(await refusal(given.recipe, join(given.family.root, 'out'))).toContain(
      "importances under the names of the models' tensors, such as",
    );
  });
});
