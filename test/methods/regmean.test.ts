import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import {
  instructionSets,
  LayerloomError,
  merge,
  planMerge,
  type RecipeInput,
  type RegmeanParameters,
  verify,
} from '../../src/index.js';
import { lora, writeAdapter } from '../fixtures/adapters.js';
import {
  type TensorFixture,
  type Tensors,
  temporaryDirectory,
  writeCheckpoint,
} from '../fixtures/checkpoints.js';
import { hashOf } from '../fixtures/contents.js';
import { type Family, writeFamilyOf } from '../fixtures/family.js';
import { gramsOf, writeGrams } from '../fixtures/grams.js';
import { average, readTensors } from '../fixtures/merged.js';
import { decode, encode, type Floating, roundTo } from '../fixtures/numbers.js';

const { fround } = Math;

const up = 'model.layers.0.mlp.up_proj.weight';
const key = 'model.layers.0.self_attn.k_proj.weight';
const query = 'model.layers.0.self_attn.q_proj.weight';
const shapes = {
  'model.embed_tokens.weight': [11, 37],
  'model.layers.0.input_layernorm.weight': [37],
  [key]: [5, 37],
  [query]: [9, 37],
  [up]: [7, 133],
};
const matrices = [key, query, up];
const experts = ['a', 'b', 'c'] as const;

const only = (tensors: Tensors, names: readonly string[]): Tensors =>
  Object.fromEntries(names.map((name) => [name, tensors[name] as TensorFixture]));

const withGrams = (
  family: Family,
  names: readonly string[] = matrices,
  options: Parameters<typeof gramsOf>[2] = {},
) => {
  const grams = experts.map((name, seed) => gramsOf(only(family.tensors[name], names), 70 + seed, options));
  const files = grams.map((tensors, index) => writeGrams(family.root, experts[index] ?? '', tensors));
  const recipe = {
    method: 'regmean',
    models: experts.map((name) => family[name]),
    grams: files,
  } satisfies RecipeInput;
  return { family, grams, recipe };
};

const make = (dtype: Floating = 'BF16', of: Floating = 'F32') =>
  withGrams(writeFamilyOf(shapes, dtype), matrices, { dtype: of });

/** In float32, from which matrices are merged. */
const numbersIn = (tensors: Tensors, name: string): number[] => {
  const { dtype, data } = tensors[name] as TensorFixture;
  return decode(dtype as Floating, data).map(fround);
};

interface Settings {
  readonly weights?: readonly number[];
  readonly scaling?: number;
  readonly ridge?: number;
}

/** The paper's equation in float64, by Gaussian elimination with pivots: docs/methods.md. */
const byHand = (
  values: readonly (readonly number[])[],
  grams: readonly (readonly number[])[],
  { weights = [1, 1, 1], scaling = 0.9, ridge = 0 }: Settings,
): number[] => {
  const width = Math.sqrt(grams[0]?.length ?? 0);
  const height = (values[0]?.length ?? 0) / width;
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const scaled = grams.map((gram, model) =>
    gram.map((x, at) => {
      const isOn = Math.floor(at / width) === at % width;
      return ((weights[model] ?? 0) / total) * (isOn ? x : scaling * x);
    }),
  );
  const sum = (scaled[0] ?? []).map((_, at) => scaled.reduce((all, gram) => all + (gram[at] ?? 0), 0));
  let trace = 0;
  for (let i = 0; i < width; i += 1) trace += sum[i * width + i] ?? 0;
  const epsilon = (ridge * trace) / width;
  // Rows of the system, and the right sides beside them: column by column of Σ WG̃.
  const rows = Array.from({ length: width }, (_, i) => {
    const row = sum.slice(i * width, (i + 1) * width);
    row[i] = (row[i] ?? 0) + epsilon;
    for (let r = 0; r < height; r += 1) {
      let right = 0;
      for (const [model, gram] of scaled.entries()) {
        for (let k = 0; k < width; k += 1)
          right += (values[model]?.[r * width + k] ?? 0) * (gram[k * width + i] ?? 0);
        right += ((weights[model] ?? 0) / total) * epsilon * (values[model]?.[r * width + i] ?? 0);
      }
      row.push(right);
    }
    return row;
  });
  const at = (i: number, j: number): number => rows[i]?.[j] ?? 0;
  for (let column = 0; column < width; column += 1) {
    let most = column;
    for (let i = column; i < width; i += 1)
      if (Math.abs(at(i, column)) > Math.abs(at(most, column))) most = i;
    [rows[column], rows[most]] = [rows[most] as number[], rows[column] as number[]];
    const pivot = rows[column] as number[];
    for (let i = 0; i < width; i += 1) {
      const factor = i === column ? 0 : at(i, column) / at(column, column);
      if (factor === 0) continue;
      const row = rows[i] as number[];
      for (let j = column; j < row.length; j += 1) row[j] = (row[j] ?? 0) - factor * (pivot[j] ?? 0);
    }
  }
  return Array.from({ length: height * width }, (_, index) => {
    const [r, i] = [Math.floor(index / width), index % width];
    return at(i, width + r) / at(i, i);
  });
};

const mergedBy = async (family: Family, recipe: RecipeInput): Promise<Tensors> => {
  const out = join(family.root, `out-${Math.random()}`);
  await merge(recipe, { out, threads: 2, layout: 'size' });
  return await readTensors(out);
};

const expectedOf = ({ family, grams }: ReturnType<typeof make>, name: string, settings: Settings) =>
  byHand(
    experts.map((expert) => numbersIn(family.tensors[expert], name)),
    grams.map((one) => numbersIn(one, name)),
    settings,
  );

const farthest = (a: readonly number[], b: readonly number[]): number =>
  a.reduce((most, x, at) => Math.max(most, Math.abs(x - (b[at] ?? 0))), 0);

describe('a RegMean', () => {
  it.each<[Floating, Floating, Settings]>([
    ['F64', 'F64', {}],
    ['F32', 'F32', { weights: [3, 1, 0.7], scaling: 0.5 }],
    ['BF16', 'F32', { weights: [1, 2, 1], ridge: 0.01 }],
    ['F16', 'BF16', { scaling: 0 }],
    ['BF16', 'F32', { scaling: 1, ridge: 1e-3 }],
  ])('of %s by Gram matrices in %s solves its system in float64: %j', async (dtype, of, settings) => {
    const made = make(dtype, of);
    const tensors = await mergedBy(made.family, { ...made.recipe, ...settings });
    for (const name of matrices) {
      const got = decode(dtype, (tensors[name] as TensorFixture).data);
      const expected = expectedOf(made, name, settings);
      if (dtype === 'F64') expect(farthest(got, expected), name).toBeLessThan(1e-12);
      else expect(got, name).toEqual(expected.map((x) => roundTo(dtype, x)));
    }
    for (const name of ['model.embed_tokens.weight', 'model.layers.0.input_layernorm.weight'])
      expect(Uint8Array.from(tensors[name]?.data ?? []), name).toEqual(
        average(
          dtype,
          experts.map((expert) => made.family.tensors[expert][name] as TensorFixture),
          settings.weights ?? [1, 1, 1],
        ),
      );
  });

  it('of more inputs and outputs than stand in one tile is solved alike', async () => {
    const made = withGrams(writeFamilyOf({ [up]: [530, 300] }, 'F64'), [up], { rows: 340 });
    const tensors = await mergedBy(made.family, { ...made.recipe, scaling: 0.95 });
    const got = decode('F64', (tensors[up] as TensorFixture).data);
    expect(farthest(got, expectedOf(made, up, { scaling: 0.95 }))).toBeLessThan(1e-12);
  });

  it('has the same bits on every instruction set and with any number of threads', async () => {
    const { family, recipe } = withGrams(writeFamilyOf({ [up]: [530, 300], [query]: [9, 37] }), [up, query]);
    const url = JSON.stringify(fileURLToPath(new URL('../../dist/index.js', import.meta.url)));
    const hashes = instructionSets().available.flatMap((isa) => {
      const outs = [1, 3].map((threads) => join(family.root, `${isa}-${threads}`));
      const program = `
        import { merge } from ${url};
        for (const [index, threads] of [1, 3].entries())
          await merge(${JSON.stringify(recipe)}, { threads, layout: 'size', out: ${JSON.stringify(outs)}[index] });
      `;
      execFileSync(process.execPath, ['--input-type=module', '-e', program], {
        env: { ...process.env, LAYERLOOM_ISA: isa },
      });
      return outs.map((out) => hashOf(out));
    });
    expect(new Set(hashes).size).toBe(1);
  });

  it('is the average where inputs are alike in size and kind, and each model where others have none', async () => {
    const { family, grams, recipe } = make('F64');
    const [first = {}] = grams;
    for (const name of experts) writeGrams(family.root, name, first);
    const values = experts.map((name) => numbersIn(family.tensors[name], up));
    const mean = (values[0] ?? []).map((_, at) => values.reduce((sum, one) => sum + (one[at] ?? 0), 0) / 3);
    const alike = await mergedBy(family, recipe);
    expect(farthest(numbersIn(alike, up), mean)).toBeLessThan(1e-6);
    // Inputs that only b's rows have get b's columns.
    const halves = grams.map((one, model) => {
      const diagonal = Array.from({ length: 133 * 133 }, (_, at) => {
        const [i, j] = [Math.floor(at / 133), at % 133];
        return i === j && i < 60 === (model === 1) ? 1 : 0;
      });
      return { ...one, [up]: { dtype: 'F32', shape: [133, 133], data: encode('F32', diagonal) } };
    });
    for (const [index, name] of experts.entries()) writeGrams(family.root, name, halves[index] ?? {});
    const got = numbersIn(await mergedBy(family, recipe), up);
    for (let i = 0; i < 60; i += 1) expect(got[133 + i]).toBeCloseTo(values[1]?.[133 + i] ?? 0, 12);
    for (let i = 60; i < 133; i += 1)
      expect(got[133 + i]).toBeCloseTo(((values[0]?.[133 + i] ?? 0) + (values[2]?.[133 + i] ?? 0)) / 2, 6);
  });

  it('takes a matrix that layers share from the one place where a file has it', async () => {
    const { family, grams, recipe } = make();
    const whole = grams.map((one) => ({ ...one, [key]: one[query] as TensorFixture }));
    for (const [index, name] of experts.entries()) writeGrams(family.root, name, whole[index] ?? {});
    const expected = await mergedBy(family, recipe);
    for (const [index, name] of experts.entries()) {
      const { [key]: _, ...rest } = whole[index] ?? {};
      writeGrams(family.root, name, rest, { [key]: query });
    }
    expect(await mergedBy(family, recipe)).toEqual(expected);
  });

  it('reads neither a model of weight 0 nor its matrices, and is a copy of one alone', async () => {
    const { recipe } = make();
    const plan = await planMerge({ ...recipe, weights: [1, 0, 0] });
    expect(plan.shards.flatMap(({ tensors }) => tensors.map(({ expression }) => expression.kind))).toEqual(
      Object.keys(shapes).map(() => 'copy'),
    );
    const { cost } = await planMerge({ ...recipe, weights: [1, 0, 1] });
    const elements = 11 * 37 + 37 + (5 + 9) * 37 + 7 * 133;
    const squares = 2 * 37 ** 2 + 133 ** 2;
    expect(cost).toMatchObject({
      bytesToRead: 2 * (2 * elements + 4 * squares),
      bytesToMeasure: 2 * 4 * squares,
    });
  });

  it('averages matrices of layers that no file has a Gram matrix of, and says so', async () => {
    const { family, grams, recipe } = make('F32');
    for (const [index, one] of grams.entries())
      writeGrams(family.root, experts[index] ?? '', only(one, [key, query]));
    const plan = await planMerge(recipe);
    expect(plan.warnings).toContain(
      `no file has Gram matrices of ${up}: averaged by the models' weights alone`,
    );
    const soup = await mergedBy(family, { method: 'soup', models: recipe.models });
    const tensors = await mergedBy(family, recipe);
    expect(tensors[up]).toEqual(soup[up]);
    expect(tensors[query]).not.toEqual(soup[query]);
  });

  it('is made again from its record, and verified against its inputs', async () => {
    const { family, recipe } = make();
    const out = join(family.root, 'first');
    await merge({ ...recipe, ridge: 0.25 }, { out, threads: 1, layout: 'size' });
    const again = join(family.root, 'again');
    await merge(join(out, 'layerloom.json'), { out: again, threads: 1, layout: 'size' });
    expect(hashOf(again)).toBe(hashOf(out));
    expect((await verify(out, { againstInputs: true })).intact).toBe(true);
    const card = readFileSync(join(out, 'README.md'), 'utf8');
    expect(card).toContain('# RegMean of a, b and c\n');
    expect(card).toContain('2212.09849');
    writeFileSync(
      join(family.root, 'regmean.yaml'),
      'method: regmean\nmodels: [./a, ./b, ./c]\ngrams: [a.grams.safetensors, b.grams.safetensors, c.grams.safetensors]\nridge: 0.25\n',
    );
    const third = join(family.root, 'third');
    await merge(join(family.root, 'regmean.yaml'), { out: third, threads: 1, layout: 'size' });
    expect(hashOf(third)).toBe(hashOf(out));
  });

  it('merges what recipes make', async () => {
    const { family, recipe } = make('F32');
    const soup = { method: 'soup', models: [family.a, family.b] } satisfies RecipeInput;
    writeCheckpoint(join(family.root, 'soup'), { tensors: await mergedBy(family, soup) });
    const of = (model: RecipeInput | string): RecipeInput => ({
      ...recipe,
      models: [model, family.c],
      grams: recipe.grams.slice(0, 2),
    });
    expect(await mergedBy(family, of(soup))).toEqual(await mergedBy(family, of(join(family.root, 'soup'))));
  });

  it('has what is not finite in the rows that have it, where that is allowed', async () => {
    const { family, recipe } = make('F32');
    const broken = numbersIn(family.tensors.b, up);
    broken[2 * 133 + 4] = Number.NaN;
    const data = encode('F32', broken);
    writeCheckpoint(family.b, {
      tensors: { ...family.tensors.b, [up]: { dtype: 'F32', shape: [7, 133], data } },
    });
    const whole = numbersIn(await mergedBy(family, { ...recipe, allowNonFinite: true }), up);
    expect(whole.map((x) => Number.isNaN(x))).toEqual(whole.map((_, at) => Math.floor(at / 133) === 2));
  });
});

describe('a RegMean is refused', () => {
  const refusal = async (recipe: RecipeInput, out: string): Promise<string> => {
    try {
      await merge(recipe, { out, threads: 1 });
      return 'not refused';
    } catch (error) {
      if (!(error instanceof LayerloomError)) throw error;
      return `${error.code}: ${error.message}`;
    }
  };

  it.each<[string, Partial<RegmeanParameters>, string]>([
    [
      'without Gram matrices',
      { grams: undefined as never },
      'grams is missing: expected a file for each model, in their order, which `python -m layerloom.train.grams` makes',
    ],
    ['with a file too few', { grams: ['x', 'y'] }, 'grams: expected one file for each model, in their order'],
    ['with a negative weight', { weights: [1, 2, -1] }, 'weights: expected weights of 0 or more'],
    ['with a scaling above 1', { scaling: 1.1 }, 'scaling: expected a number from 0 to 1'],
    ['with a negative ridge', { ridge: -1 }, 'ridge: expected a number from 0 to 1000000'],
    ['with a ridge beyond sense', { ridge: 1e308 }, 'ridge: expected a number from 0 to 1000000'],
    [
      'with an infinite ridge',
      { ridge: Number.POSITIVE_INFINITY },
      'ridge: expected a number from 0 to 1000000',
    ],
    [
      'with a file that is not there',
      { grams: ['/nowhere/x.safetensors', '/nowhere/y.safetensors', '/nowhere/z.safetensors'] },
      'grams.0: expected the file of Gram matrices that `python -m layerloom.train.grams` makes, which is not there',
    ],
  ])('%s', async (_, change, message) => {
    const { family, recipe } = make();
    expect(await refusal({ ...recipe, ...change }, join(family.root, 'out'))).toContain(message);
  });

  it('in the place of a model, and where its output would be quantised', async () => {
    const { family, recipe } = make();
    const out = join(temporaryDirectory(), 'out');
    expect(await refusal({ method: 'soup', models: [recipe, family.base] }, out)).toContain(
      'models.0: expected a model, and no recipe of regmean: merge that first, in a step of its own',
    );
    expect(await refusal({ ...recipe, quantize: 'int8' }, out)).toContain(
      'quantize: expected nothing where matrices are solved for: quantise the merge in a step of its own',
    );
  });

  it('where models are bare adapters', async () => {
    const { family, recipe } = make();
    const adapters = experts.map((name, seed) =>
      writeAdapter(join(family.root, `lora-${name}`), lora({ seed })),
    );
    expect(await refusal({ ...recipe, models: adapters }, join(family.root, 'out'))).toContain('FORMS_MIXED');
  });

  const changed = async (
    change: (tensors: Tensors) => Tensors,
    { shared, ...settings }: Partial<RegmeanParameters> & { shared?: Record<string, string> } = {},
    files: readonly string[] = ['b'],
  ): Promise<string> => {
    const { family, grams, recipe } = make();
    for (const name of files)
      writeGrams(family.root, name, change(grams[experts.indexOf(name as 'b')] ?? {}), shared);
    return await refusal({ ...recipe, ...settings }, join(family.root, 'out'));
  };
  const having = (name: string, change: (values: number[]) => number[]) => (tensors: Tensors) => ({
    ...tensors,
    [name]: { ...(tensors[name] as TensorFixture), data: encode('F32', change(numbersIn(tensors, name))) },
  });

  it('where a Gram matrix has what is no number, also where that is allowed', async () => {
    for (const allowNonFinite of [false, true])
      expect(
        await changed(
          having(up, (values) => values.with(140, Number.NaN)),
          { allowNonFinite } as never,
        ),
      ).toMatch(
        new RegExp(`^NON_FINITE: .*${up}\\[1, 7\\] of .*b\\.grams\\.safetensors \\(NaN\\).*again`, 's'),
      );
  });

  it('where a model has what is no number, with its file, tensor and index', async () => {
    const { family, recipe } = make('F32');
    const data = encode('F32', numbersIn(family.tensors.c, up).with(140, Number.NEGATIVE_INFINITY));
    writeCheckpoint(family.c, {
      tensors: { ...family.tensors.c, [up]: { dtype: 'F32', shape: [7, 133], data } },
    });
    expect(await refusal(recipe, join(family.root, 'out'))).toMatch(
      new RegExp(`^NON_FINITE: .*${up}\\[1, 7\\] of .*c/model\\.safetensors \\(-Infinity\\)`, 's'),
    );
  });

  it('where a result is beyond its dtype, with its index', async () => {
    const { family, recipe } = make('F32');
    const data = encode('F32', numbersIn(family.tensors.c, up).with(140, 1e9));
    writeCheckpoint(family.c, {
      tensors: { ...family.tensors.c, [up]: { dtype: 'F32', shape: [7, 133], data } },
    });
    expect(await refusal({ ...recipe, dtype: 'float16' }, join(family.root, 'out'))).toMatch(
      new RegExp(`^NON_FINITE: .*${up}\\[1, \\d+\\] of the output \\(-?Infinity`, 's'),
    );
  });

  it('where no row depends on an input, unless a ridge decides for the average', async () => {
    const without = having(up, (values) =>
      values.map((x, at) => (at % 133 === 4 || Math.floor(at / 133) === 4 ? 0 : x)),
    );
    expect(await changed(without, {}, experts)).toBe(
      `MERGE_UNDEFINED: regmean has no result for tensor ${up}: the diagonal of its Gram matrices is 0 at input 4, on which no row depends; make them of more rows, or merge with a ridge such as 1e-6`,
    );
    const { family, grams, recipe } = make('F32');
    for (const [index, name] of experts.entries()) writeGrams(family.root, name, without(grams[index] ?? {}));
    const got = numbersIn(await mergedBy(family, { ...recipe, ridge: 1e-6 }), up);
    const values = experts.map((name) => numbersIn(family.tensors[name], up));
    const mean = values.reduce((sum, one) => sum + (one[133 + 4] ?? 0), 0) / 3;
    expect(got[133 + 4]).toBeCloseTo(mean, 6);
  });

  it('where a diagonal is negative, which no ridge mends', async () => {
    const negative = having(up, (values) => values.with(5 * 134, -8));
    expect(await changed(negative, {}, experts)).toContain(
      'the diagonal of its Gram matrices is -8 at input 5, and a mean of squares is never negative; make the files again',
    );
  });

  it('where a Gram matrix is not symmetric, of which a half would be used', async () => {
    const half = having(up, (values) => values.map((x, at) => (at % 133 > Math.floor(at / 133) ? 0 : x)));
    expect(await changed(half, {}, ['b'])).toMatch(
      new RegExp(
        `^MERGE_UNDEFINED: .*${up}: its Gram matrix in .*b\\.grams\\.safetensors is not symmetric at input 0; make the file again`,
      ),
    );
  });

  it('where there are fewer rows than inputs, and nothing but those decides', async () => {
    const { family } = make();
    const { recipe } = withGrams(family, [up], { rows: 20 });
    expect(await refusal({ ...recipe, scaling: 1 }, join(family.root, 'out'))).toMatch(
      /^MERGE_UNDEFINED: .*do not tell input \d+ from those before it; make them of more rows, or merge with a smaller scaling, or with a ridge such as 1e-6/,
    );
    expect(await refusal({ ...recipe, scaling: 0.99 }, join(family.root, 'out'))).toBe('not refused');
  });

  it('where a file has another shape, lacks a matrix, has integers or none of the names', async () => {
    const shaped = await changed((tensors) => ({ ...tensors, [up]: tensors[key] as TensorFixture }));
    expect(shaped).toMatch(/^SHAPE_MISMATCH: .*b\.grams\.safetensors/s);
    expect(shaped).toContain(`${up} [37, 37] against [133, 133]`);
    expect(shaped).toContain('Make the file again, of the model that it stands beside');
    expect(await changed((tensors) => only(tensors, [key, query]))).toContain(
      `Gram matrices of the same tensors in each file, and this has none of ${up}`,
    );
    const integers = { dtype: 'I32', shape: [133, 133], data: new Uint8Array(4 * 133 ** 2) };
    expect(await changed((tensors) => ({ ...tensors, [up]: integers }))).toContain(
      `Gram matrices that are floating numbers, and ${up} is I32`,
    );
    const one = { dtype: 'F32', shape: [1, 1], data: new Uint8Array(4) };
    expect(await changed(() => ({ x: one }), {}, experts)).toContain(
      "Gram matrices under the names of the models' tensors, such as",
    );
    const norm = 'model.layers.0.input_layernorm.weight';
    expect(await changed((tensors) => ({ ...tensors, [norm]: one }), {}, experts)).toContain(
      `Gram matrices of linear layers alone, and ${norm} is no matrix of these`,
    );
    expect(await changed((tensors) => ({ ...tensors, [norm]: one }))).toMatch(
      new RegExp(`^INVALID_PARAMETER: grams\\.1: .*and ${norm} is no matrix of these`),
    );
  });

  it('where what layers share is not said so, or not there', async () => {
    const { family, grams, recipe } = make();
    const other = join(family.root, 'other.safetensors');
    const [first = {}] = grams;
    for (const shared of [{ [key]: 'x' }, { [key]: query }, { z: 3 as never }]) {
      writeFileSync(other, readFileSync(writeGrams(family.root, 'other', first, shared)));
      expect(
        await refusal({ ...recipe, grams: [...recipe.grams.slice(0, 2), other] }, join(family.root, 'out')),
      ).toContain('grams.2: expected a file that has each Gram matrix once');
    }
  });
});
