import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import {
  instructionSets,
  LayerloomError,
  merge,
  planMerge,
  type RecipeInput,
  verify,
} from '../../src/index.js';
import { type TensorFixture, type Tensors, writeCheckpoint } from '../fixtures/checkpoints.js';
import { hashOf } from '../fixtures/contents.js';
import { type Family, writeFamilyOf } from '../fixtures/family.js';
import { readTensors } from '../fixtures/merged.js';
import { decode, encode, type Floating, roundTo } from '../fixtures/numbers.js';

const up = 'model.layers.0.mlp.up_proj.weight';
const down = 'model.layers.0.mlp.down_proj.weight';
const query = 'model.layers.0.self_attn.q_proj.weight';
const convolution = 'model.layers.0.mixer.conv1d.weight';
const matrices = { [up]: [133, 37], [down]: [37, 133], [query]: [37, 37] };
const others = {
  'model.embed_tokens.weight': [41, 37],
  'model.layers.0.input_layernorm.weight': [37],
  [convolution]: [5, 1, 4],
  'model.layers.0.mixer.A_log': [16, 4],
  'model.layers.0.mlp.experts.gate_up_proj': [2, 5, 6],
  'model.layers.0.mlp.experts.gate_up_proj_bias': [2, 6],
  'model.layers.0.mlp.none.weight': [0, 16],
};
const experts = ['a', 'b', 'c'] as const;

const numbersIn = (tensors: Tensors, name: string): number[] => {
  const { dtype, data } = tensors[name] as TensorFixture;
  return decode(dtype as Floating, data);
};

/** In float32, from which matrices are merged. */
const floatsIn = (tensors: Tensors, name: string): number[] => numbersIn(tensors, name).map(Math.fround);

const recipeOf = (family: Family) =>
  ({
    method: 'iso_c',
    base: family.base,
    models: experts.map((name) => family[name]),
  }) satisfies RecipeInput;

const mergedBy = async (family: Family, recipe: RecipeInput): Promise<Tensors> => {
  const out = join(family.root, 'merged');
  await merge(recipe, { out, threads: 1, layout: 'size', force: true });
  return await readTensors(out);
};

/** Δ of a family: the sum of the experts' changes. */
const changeIn = ({ tensors }: Family, name: string): number[] => {
  const base = floatsIn(tensors.base, name);
  return experts.reduce(
    (sum, expert) => floatsIn(tensors[expert], name).map((x, i) => (sum[i] ?? 0) + (x - (base[i] ?? 0))),
    base.map(() => 0),
  );
};

type Matrix = readonly (readonly number[])[];

const matrixOf = (values: readonly number[], columns: number): Matrix =>
  Array.from({ length: values.length / columns }, (_, row) =>
    values.slice(row * columns, (row + 1) * columns),
  );
const transposed = (a: Matrix): Matrix => (a[0] ?? []).map((_, i) => a.map((row) => row[i] ?? 0));
/** aᵀb */
const gram = (a: Matrix, b: Matrix): number[][] => {
  const sums = (a[0] ?? []).map(() => (b[0] ?? []).map(() => 0));
  for (const [k, row] of a.entries())
    for (const [i, x] of row.entries()) {
      const to = sums[i] as number[];
      for (const [j, y] of (b[k] ?? []).entries()) to[j] = (to[j] ?? 0) + x * y;
    }
  return sums;
};
const most = (a: Matrix): number => Math.max(...a.flat().map(Math.abs));
const minus = (a: Matrix, b: Matrix): Matrix => a.map((row, i) => row.map((x, j) => x - (b[i]?.[j] ?? 0)));
/** True if a Cholesky factorisation succeeds. */
const isPositive = (symmetric: Matrix): boolean => {
  const l: number[][] = [];
  for (const [i, row] of symmetric.entries()) {
    const to: number[] = [];
    l.push(to);
    for (let j = 0; j <= i; j += 1) {
      const other = l[j] as number[];
      let sum = row[j] ?? 0;
      for (let k = 0; k < j; k += 1) sum -= (to[k] ?? 0) * (other[k] ?? 0);
      if (i === j && !(sum > 0)) return false;
      to.push(i === j ? Math.sqrt(sum) : sum / (other[j] ?? 0));
    }
  }
  return true;
};

/**
 * Checks that what a merge adds is σ̄ · R for the polar factor R of Δ, which has orthonormal columns (rows, where it is wide)
 * and for which RᵀΔ is symmetric and positive definite: no other matrix has. Its trace is the sum of the singular values.
 */
const checkFactor = (family: Family, merged: Tensors, name: string, lambda: number): void => {
  const { shape } = merged[name] as TensorFixture;
  const [rows = 0, columns = 0] = shape;
  const base = floatsIn(family.tensors.base, name);
  const turn = (values: readonly number[]): Matrix =>
    rows < columns ? transposed(matrixOf(values, columns)) : matrixOf(values, columns);
  const added = turn(numbersIn(merged, name).map((x, i) => (x - (base[i] ?? 0)) / lambda));
  const delta = turn(changeIn(family, name));
  const square = gram(added, added);
  const mean = Math.sqrt(square.reduce((sum, row, i) => sum + (row[i] ?? 0), 0) / square.length);
  const one = square.map((row, i) => row.map((_, j) => (i === j ? mean ** 2 : 0)));
  expect(most(minus(square, one)) / mean ** 2, `${name}: orthonormal`).toBeLessThan(1e-7);
  const stretch = gram(added, delta);
  expect(most(minus(stretch, transposed(stretch))) / most(stretch), `${name}: symmetric`).toBeLessThan(1e-7);
  expect(isPositive(stretch), `${name}: positive`).toBe(true);
  const sum = stretch.reduce((total, row, i) => total + (row[i] ?? 0), 0) / mean;
  expect(mean / (sum / stretch.length), `${name}: mean of the singular values`).toBeCloseTo(1, 7);
};

describe('Iso-C', () => {
  it('adds the polar factor of the summed changes times the mean of their singular values', async () => {
    const family = writeFamilyOf(matrices, 'F64');
    for (const lambda of [1, 0.3]) {
      const merged = await mergedBy(family, { ...recipeOf(family), lambda });
      for (const name of Object.keys(matrices)) checkFactor(family, merged, name, lambda);
    }
  });

  it('does so with more rows and columns than stand in one tile', async () => {
    const family = writeFamilyOf({ [up]: [300, 270], [down]: [260, 520] }, 'F64');
    const merged = await mergedBy(family, recipeOf(family));
    for (const name of [up, down]) checkFactor(family, merged, name, 1);
  });

  it.each(['F32', 'BF16', 'F16'] as const)('rounds once to %s', async (dtype) => {
    const family = writeFamilyOf(matrices, dtype);
    const wide = await mergedBy(family, { ...recipeOf(family), dtype: 'float64' } as never);
    const merged = await mergedBy(family, recipeOf(family));
    for (const name of Object.keys(matrices))
      expect(numbersIn(merged, name), name).toEqual(numbersIn(wide, name).map((x) => roundTo(dtype, x)));
  });

  it('averages embeddings, norms and convolutions', async () => {
    const family = writeFamilyOf({ ...others, ...matrices });
    for (const lambda of [1, 0.3]) {
      const merged = await mergedBy(family, { ...recipeOf(family), lambda });
      const linear = await mergedBy(family, {
        method: 'linear',
        normalize: false,
        models: [
          ...(lambda === 1 ? [] : [{ model: family.base, weight: 1 - lambda }]),
          ...experts.map((name) => ({ model: family[name], weight: lambda / 3 })),
        ],
      });
      for (const name of Object.keys(others)) expect(merged[name], name).toEqual(linear[name]);
    }
  });

  it('has the same bits on every instruction set and with any number of threads', async () => {
    const family = writeFamilyOf({ ...matrices, [up]: [300, 270] });
    const url = JSON.stringify(fileURLToPath(new URL('../../dist/index.js', import.meta.url)));
    const hashes = instructionSets().available.flatMap((isa) => {
      const outs = [1, 3].map((threads) => join(family.root, `${isa}-${threads}`));
      const program = `
        import { merge } from ${url};
        for (const [index, threads] of [1, 3].entries())
          await merge(${JSON.stringify(recipeOf(family))},
            { threads, layout: 'size', sliceBytes: 4104 * threads, out: ${JSON.stringify(outs)}[index] });
      `;
      execFileSync(process.execPath, ['--input-type=module', '-e', program], {
        env: { ...process.env, LAYERLOOM_ISA: isa },
      });
      return outs.map((out) => hashOf(out));
    });
    expect(new Set(hashes).size).toBe(1);
  }, 120_000);

  const withExperts = (family: Family, change: (expert: number, row: number, column: number) => number) => {
    const base = numbersIn(family.tensors.base, query).map((x) => roundTo('BF16', x));
    const tensors = { ...family.tensors };
    tensors.base = { ...tensors.base, [query]: { dtype: 'F64', shape: [37, 37], data: encode('F64', base) } };
    writeCheckpoint(family.base, { tensors: tensors.base });
    for (const [index, name] of experts.entries()) {
      const values = base.map((x, at) => x + change(index, Math.floor(at / 37), at % 37));
      const one = { dtype: 'F64', shape: [37, 37], data: encode('F64', values) };
      tensors[name] = { ...family.tensors[name], [query]: one };
      writeCheckpoint(family[name], { tensors: tensors[name] });
    }
    return { ...family, tensors };
  };
  const tenths = (row: number, column: number) => (((row * 31 + column * 17) % 23) - 11) / 64;

  it('leaves the base where nothing changes: a whole matrix, rows and columns', async () => {
    const family = writeFamilyOf({ [query]: [37, 37] }, 'F64');
    const none = withExperts(family, (expert) => (expert - 1) / 64);
    const base = numbersIn(none.tensors.base, query);
    expect(numbersIn(await mergedBy(none, recipeOf(none)), query)).toEqual(base);
    const isKept = (row: number, column: number) => row === 3 || column === 5;
    const some = withExperts(family, (expert, row, column) =>
      isKept(row, column) ? 0 : tenths(row + expert, column),
    );
    const merged = numbersIn(await mergedBy(some, recipeOf(some)), query);
    expect(merged.map((x, at) => x === base[at])).toEqual(
      base.map((_, at) => isKept(Math.floor(at / 37), at % 37)),
    );
  });

  it('adds nothing in directions in which nothing changes, and counts their singular values as 0', async () => {
    // Δ = 3·u·vᵀ + 4·s·tᵀ of unit vectors that are orthogonal: singular values 4 and 3 of 37.
    const family = withExperts(writeFamilyOf({ [query]: [37, 37] }, 'F64'), (_, row, column) =>
      row === 2 && column === 7 ? 1 : row === 30 && column === 0 ? -4 / 3 : 0,
    );
    const base = numbersIn(family.tensors.base, query);
    const merged = numbersIn(await mergedBy(family, recipeOf(family)), query);
    const mean = 7 / 37;
    const expected = base.map((x, at) => (at === 2 * 37 + 7 ? x + mean : at === 30 * 37 ? x - mean : x));
    for (const [at, x] of merged.entries()) expect(x).toBeCloseTo(expected[at] ?? 0, 7);
  });

  it('is made again from its record, and verified against its inputs', async () => {
    const family = writeFamilyOf(matrices);
    const out = join(family.root, 'first');
    await merge({ ...recipeOf(family), lambda: 0.5 }, { out, threads: 1, layout: 'size' });
    const again = join(family.root, 'again');
    await merge(join(out, 'layerloom.json'), { out: again, threads: 1, layout: 'size' });
    expect(hashOf(again)).toBe(hashOf(out));
    expect((await verify(out, { againstInputs: true })).intact).toBe(true);
    const card = readFileSync(join(out, 'README.md'), 'utf8');
    expect(card).toContain('# Iso-C of a, b, c and base\n');
    expect(card).toContain('2502.04959');
  });

  it('says in a plan what is merged by singular values', async () => {
    const family = writeFamilyOf({ ...matrices, ...others });
    const plan = await planMerge(recipeOf(family));
    const kinds = plan.shards.flatMap(({ tensors }) =>
      tensors.map(({ name, expression }) => [name, expression.kind]),
    );
    expect(Object.fromEntries(kinds)).toEqual({
      ...Object.fromEntries(Object.keys(matrices).map((name) => [name, 'spectral'])),
      ...Object.fromEntries(Object.keys(others).map((name) => [name, 'linear'])),
    });
  });
});

describe('an Iso-C is refused', () => {
  const refusal = async (family: Family, recipe: object): Promise<string> => {
    try {
      await merge(recipe as RecipeInput, { out: join(family.root, 'out'), threads: 1 });
      return 'not refused';
    } catch (error) {
      if (!(error instanceof LayerloomError)) throw error;
      return `${error.code}: ${error.message}`;
    }
  };

  it('of one model, without a base, with a λ that is no number, and in the place of a model', async () => {
    const family = writeFamilyOf(matrices);
    const recipe = recipeOf(family);
    expect(await refusal(family, { ...recipe, models: [family.a] })).toContain('two models or more');
    expect(await refusal(family, { ...recipe, base: undefined })).toContain('base is missing');
    expect(await refusal(family, { ...recipe, lambda: 'x' })).toContain('lambda: expected a number');
    expect(await refusal(family, { ...recipe, lambda: Number.POSITIVE_INFINITY })).toContain(
      'lambda: expected a number',
    );
    expect(await refusal(family, { method: 'soup', models: [recipe, family.a] })).toContain(
      'models.0: expected a model, and no recipe of iso_c: merge that first, in a step of its own',
    );
    expect(await refusal(family, { ...recipe, quantize: 'int8' })).toContain(
      'quantise the merge in a step of its own',
    );
  });

  const broken = (dtype: Floating, value: number): Family => {
    const family = writeFamilyOf(matrices, dtype);
    const data = encode(dtype, numbersIn(family.tensors.b, up).with(40, value));
    writeCheckpoint(family.b, {
      tensors: { ...family.tensors.b, [up]: { dtype, shape: [133, 37], data } },
    });
    return family;
  };

  it('where a model has what is no number, which makes the matrix NaN where it is allowed', async () => {
    const family = broken('F32', Number.NaN);
    expect(await refusal(family, recipeOf(family))).toMatch(
      new RegExp(`^NON_FINITE: .*${up}\\[1, 3\\] of .*b/model\\.safetensors \\(NaN\\)`, 's'),
    );
    const merged = await mergedBy(family, { ...recipeOf(family), allowNonFinite: true });
    expect(numbersIn(merged, up).every(Number.isNaN)).toBe(true);
    expect(numbersIn(merged, down).some(Number.isNaN)).toBe(false);
  });

  it('where a change is beyond float32, or the result beyond its dtype', async () => {
    const large = broken('F64', 1e300);
    expect(await refusal(large, recipeOf(large))).toMatch(
      new RegExp(`^NON_FINITE: .*${up}\\[0, 0\\] of the output \\(NaN`, 's'),
    );
    const family = broken('F32', 1e9);
    expect(await refusal(family, { ...recipeOf(family), dtype: 'float16' })).toMatch(
      new RegExp(`^NON_FINITE: .*${up}\\[\\d+, \\d+\\] of the output \\(-?Infinity`, 's'),
    );
  });
});
