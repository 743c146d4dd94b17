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

const floatsIn = (tensors: Tensors, name: string): number[] => numbersIn(tensors, name).map(Math.fround);

const methods = [
  ['iso_c', 'lambda', 'Iso-C', '2502.04959'],
  ['tsv_m', 'alpha', 'TSV-Merge', '2412.00081'],
] as const;

type Name = (typeof methods)[number][0];

const recipeOf = <N extends Name = 'iso_c'>(family: Family, method: N = 'iso_c' as N) => ({
  method,
  base: family.base,
  models: experts.map((name) => family[name]),
});

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
 * Checks that a merge adds σ̄ · R, with R the polar factor of Δ. Only R has orthonormal columns (rows, if it
 * is wide) and a symmetric positive definite RᵀΔ, whose trace is the sum of the singular values.
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

/** A family with another `query` in float64: the base's numbers plus the expert's change. */
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
    // Δ = 3·u·vᵀ + 4·s·tᵀ of orthogonal unit vectors: singular values 4 and 3 of 37.
    const family = withExperts(writeFamilyOf({ [query]: [37, 37] }, 'F64'), (_, row, column) =>
      row === 2 && column === 7 ? 1 : row === 30 && column === 0 ? -4 / 3 : 0,
    );
    const base = numbersIn(family.tensors.base, query);
    const merged = numbersIn(await mergedBy(family, recipeOf(family)), query);
    const mean = 7 / 37;
    const expected = base.map((x, at) => (at === 2 * 37 + 7 ? x + mean : at === 30 * 37 ? x - mean : x));
    for (const [at, x] of merged.entries()) expect(x).toBeCloseTo(expected[at] ?? 0, 7);
  });
});

/** The singular value decomposition by one-sided rotations (Hestenes): columns UΣ and V, largest first. */
const decomposed = (a: Matrix): { sigma: number; u: number[]; v: number[] }[] => {
  const columns = transposed(a).map((row) => [...row]);
  const v = columns.map((_, i) => columns.map((_, j) => (i === j ? 1 : 0)));
  const dot = (x: readonly number[], y: readonly number[]) =>
    x.reduce((sum, of, i) => sum + of * (y[i] ?? 0), 0);
  const rotate = (x: number[], y: number[], c: number, s: number): void => {
    for (const [k, of] of x.entries()) {
      const other = y[k] ?? 0;
      x[k] = c * of - s * other;
      y[k] = s * of + c * other;
    }
  };
  for (let sweep = 0; sweep < 8; sweep += 1)
    for (let i = 0; i < columns.length; i += 1)
      for (let j = i + 1; j < columns.length; j += 1) {
        const [x, y] = [columns[i] as number[], columns[j] as number[]];
        const [xx, yy, xy] = [dot(x, x), dot(y, y), dot(x, y)];
        if (Math.abs(xy) <= 1e-15 * Math.sqrt(xx * yy)) continue;
        const zeta = (yy - xx) / (2 * xy);
        const t = (zeta < 0 ? -1 : 1) / (Math.abs(zeta) + Math.hypot(1, zeta));
        const c = 1 / Math.hypot(1, t);
        rotate(x, y, c, c * t);
        rotate(v[i] as number[], v[j] as number[], c, c * t);
      }
  return columns
    .map((column, i) => {
      const sigma = Math.hypot(...column);
      return { sigma, u: column.map((x) => (sigma === 0 ? 0 : x / sigma)), v: v[i] as number[] };
    })
    .sort((x, y) => y.sigma - x.sigma);
};

/** The rows of the polar factor of a matrix with these columns, which are independent. */
const polarOf = (columns: Matrix): number[][] => {
  const triples = decomposed(transposed(columns));
  return (columns[0] ?? []).map((_, row) =>
    columns.map((_, column) => triples.reduce((sum, { u, v }) => sum + (u[row] ?? 0) * (v[column] ?? 0), 0)),
  );
};

/** The change that TSV-Merge adds to the base, by its definition from singular value decompositions. */
const mergedTaskVectors = (family: Family, name: string, kept?: number): number[] => {
  const { shape } = family.tensors.base[name] as TensorFixture;
  const [rows = 0, columns = 0] = shape;
  const base = floatsIn(family.tensors.base, name);
  const triples = experts.flatMap((expert) => {
    const change = floatsIn(family.tensors[expert], name).map((x, i) => x - (base[i] ?? 0));
    const matrix = matrixOf(change, columns);
    const found =
      rows < columns
        ? decomposed(transposed(matrix)).map(({ sigma, u, v }) => ({ sigma, u: v, v: u }))
        : decomposed(matrix);
    return found.slice(0, kept ?? Math.floor(Math.min(rows, columns) / experts.length));
  });
  const left = polarOf(triples.map(({ u }) => u));
  const right = polarOf(triples.map(({ v }) => v));
  return left.flatMap((of) =>
    right.map((to) => triples.reduce((sum, { sigma }, k) => sum + (of[k] ?? 0) * sigma * (to[k] ?? 0), 0)),
  );
};

const expectAdded = (family: Family, merged: Tensors, name: string, added: readonly number[]): void => {
  const base = floatsIn(family.tensors.base, name);
  const largest = Math.max(...added.map(Math.abs));
  const apart = numbersIn(merged, name).map((x, i) => Math.abs(x - (base[i] ?? 0) - (added[i] ?? 0)));
  expect(Math.max(...apart) / largest, name).toBeLessThan(1e-6);
};

describe('TSV-Merge', () => {
  const recipeFor = (family: Family) => recipeOf(family, 'tsv_m');

  it('adds the leading triples of each change, with the nearest orthonormal vectors', async () => {
    const shapes = { ...matrices, 'model.layers.0.self_attn.k_proj.weight': [4, 37] };
    const family = writeFamilyOf(shapes, 'F64');
    const added = Object.keys(shapes).map((name) => [name, mergedTaskVectors(family, name)] as const);
    for (const alpha of [1, 0.3]) {
      const merged = await mergedBy(family, { ...recipeFor(family), alpha });
      for (const [name, change] of added)
        expectAdded(
          family,
          merged,
          name,
          change.map((x) => alpha * x),
        );
    }
  });

  it('leaves a matrix with fewer rows than models as it is', async () => {
    const family = writeFamilyOf({ [up]: [2, 37], [down]: [37, 1] }, 'F64');
    const merged = await mergedBy(family, recipeFor(family));
    for (const name of [up, down])
      expect(numbersIn(merged, name)).toEqual(floatsIn(family.tensors.base, name));
  });

  it('keeps no direction in which nothing changes', async () => {
    const family = withExperts(writeFamilyOf({ [query]: [37, 37] }, 'F64'), (expert, row, column) => {
      const [first, second] = [(row * 7 + expert) % 11, (row * 5 + 3 * expert) % 13];
      return (first * ((column * 3 + expert) % 17) + 2 * second * ((column * 11 + expert) % 19)) / 1024;
    });
    const merged = await mergedBy(family, recipeFor(family));
    expectAdded(family, merged, query, mergedTaskVectors(family, query, 2));
    const none = withExperts(family, (expert) => (expert === 1 ? 0 : 1 / 64));
    const two = await mergedBy(none, recipeFor(none));
    expectAdded(none, two, query, Array(37 * 37).fill(1 / 64));
  });

  it('makes of equal models what each keeps', async () => {
    const family = withExperts(writeFamilyOf({ [query]: [37, 37] }, 'F64'), (_, row, column) =>
      tenths(row * column, column),
    );
    const base = numbersIn(family.tensors.base, query);
    const change = numbersIn(family.tensors.a, query).map((x, i) => x - (base[i] ?? 0));
    const kept = decomposed(matrixOf(change, 37)).slice(0, 12);
    const added = change.map((_, at) =>
      kept.reduce(
        (sum, { sigma, u, v }) => sum + sigma * (u[Math.floor(at / 37)] ?? 0) * (v[at % 37] ?? 0),
        0,
      ),
    );
    expectAdded(family, await mergedBy(family, recipeFor(family)), query, added);
  });

  it('keeps as many directions where all are equal, the same each time', async () => {
    const family = withExperts(writeFamilyOf({ [query]: [37, 37] }, 'F64'), (expert, row, column) =>
      expert === 0 && row === column ? 1 / 4 : 0,
    );
    const base = numbersIn(family.tensors.base, query);
    const merged = await mergedBy(family, recipeFor(family));
    const projector = matrixOf(
      numbersIn(merged, query).map((x, i) => 4 * (x - (base[i] ?? 0))),
      37,
    );
    expect(most(minus(gram(projector, projector), projector))).toBeLessThan(1e-6);
    expect(projector.reduce((trace, row, i) => trace + (row[i] ?? 0), 0)).toBeCloseTo(12, 5);
    expect((await mergedBy(family, recipeFor(family)))[query]).toEqual(merged[query]);
  });
});

it('has the same bits on every instruction set and with any number of threads', async () => {
  const family = writeFamilyOf({ ...matrices, [up]: [300, 270] });
  const url = JSON.stringify(fileURLToPath(new URL('../../dist/index.js', import.meta.url)));
  const found = instructionSets().available.map((isa) => {
    const runs = methods.map(([method]) =>
      [1, 3].map((threads) => ({ method, threads, out: join(family.root, `${method}-${isa}-${threads}`) })),
    );
    const program = `
      import { merge } from ${url};
      for (const { method, threads, out } of ${JSON.stringify(runs.flat())})
        await merge({ ...${JSON.stringify(recipeOf(family))}, method },
          { threads, layout: 'size', sliceBytes: 4104 * threads, out });
    `;
    execFileSync(process.execPath, ['--input-type=module', '-e', program], {
      env: { ...process.env, LAYERLOOM_ISA: isa },
    });
    return runs.map((outs) => outs.map(({ out }) => hashOf(out)));
  });
  for (const at of methods.keys()) expect(new Set(found.flatMap((hashes) => hashes[at] ?? [])).size).toBe(1);
}, 120_000);

describe.each(methods)('%s', (method, factor, title, arxiv) => {
  const recipeWith = (family: Family, scale = 1) =>
    ({ ...recipeOf(family, method), [factor]: scale }) as RecipeInput;

  it.each(['F32', 'BF16', 'F16'] as const)('rounds once to %s', async (dtype) => {
    const family = writeFamilyOf(matrices, dtype);
    const wide = await mergedBy(family, { ...recipeWith(family), dtype: 'float64' } as never);
    const merged = await mergedBy(family, recipeWith(family));
    for (const name of Object.keys(matrices))
      expect(numbersIn(merged, name), name).toEqual(numbersIn(wide, name).map((x) => roundTo(dtype, x)));
  });

  it('averages embeddings, norms and convolutions', async () => {
    const family = writeFamilyOf({ ...others, ...matrices });
    for (const scale of [1, 0.3]) {
      const merged = await mergedBy(family, recipeWith(family, scale));
      const linear = await mergedBy(family, {
        method: 'linear',
        normalize: false,
        models: [
          ...(scale === 1 ? [] : [{ model: family.base, weight: 1 - scale }]),
          ...experts.map((name) => ({ model: family[name], weight: scale / 3 })),
        ],
      });
      for (const name of Object.keys(others)) expect(merged[name], name).toEqual(linear[name]);
    }
  });

  it('is made again from its record, and verified against its inputs', async () => {
    const family = writeFamilyOf(matrices);
    const out = join(family.root, 'first');
    await merge(recipeWith(family, 0.5), { out, threads: 1, layout: 'size' });
    const again = join(family.root, 'again');
    await merge(join(out, 'layerloom.json'), { out: again, threads: 1, layout: 'size' });
    expect(hashOf(again)).toBe(hashOf(out));
    expect((await verify(out, { againstInputs: true })).intact).toBe(true);
    const card = readFileSync(join(out, 'README.md'), 'utf8');
    expect(card).toContain(`# ${title} of a, b, c and base\n`);
    expect(card).toContain(arxiv);
  });

  it('says in a plan what is merged by singular values', async () => {
    const family = writeFamilyOf({ ...matrices, ...others });
    const plan = await planMerge(recipeWith(family));
    const kinds = plan.shards.flatMap(({ tensors }) =>
      tensors.map(({ name, expression }) => [name, expression.kind]),
    );
    expect(Object.fromEntries(kinds)).toEqual({
      ...Object.fromEntries(Object.keys(matrices).map((name) => [name, 'spectral'])),
      ...Object.fromEntries(Object.keys(others).map((name) => [name, 'linear'])),
    });
  });
});

describe.each(methods)('%s is refused', (method, factor) => {
  const refusal = async (family: Family, recipe: object): Promise<string> => {
    try {
      await merge(recipe as RecipeInput, { out: join(family.root, 'out'), threads: 1 });
      return 'not refused';
    } catch (error) {
      if (!(error instanceof LayerloomError)) throw error;
      return `${error.code}: ${error.message}`;
    }
  };

  it('of one model, without a base, with a factor that is no number, and in the place of a model', async () => {
    const family = writeFamilyOf(matrices);
    const recipe = recipeOf(family, method);
    expect(await refusal(family, { ...recipe, models: [family.a] })).toContain('two models or more');
    expect(await refusal(family, { ...recipe, base: undefined })).toContain('base is missing');
    expect(await refusal(family, { ...recipe, [factor]: 'x' })).toContain(`${factor}: expected a number`);
    expect(await refusal(family, { ...recipe, [factor]: Number.POSITIVE_INFINITY })).toContain(
      `${factor}: expected a number`,
    );
    expect(await refusal(family, { method: 'soup', models: [recipe, family.a] })).toContain(
      `models.0: expected a model, and no recipe of ${method}: merge that first, in a step of its own`,
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
    expect(await refusal(family, recipeOf(family, method))).toMatch(
      new RegExp(`^NON_FINITE: .*${up}\\[1, 3\\] of .*b/model\\.safetensors \\(NaN\\)`, 's'),
    );
    const merged = await mergedBy(family, { ...recipeOf(family, method), allowNonFinite: true });
    expect(numbersIn(merged, up).every(Number.isNaN)).toBe(true);
    expect(numbersIn(merged, down).some(Number.isNaN)).toBe(false);
  });

  it('where a change is beyond float32, or the result beyond its dtype', async () => {
    const large = broken('F64', 1e300);
    expect(await refusal(large, recipeOf(large, method))).toMatch(
      new RegExp(`^NON_FINITE: .*${up}\\[0, 0\\] of the output \\(NaN`, 's'),
    );
    const family = broken('F32', 1e9);
    expect(await refusal(family, { ...recipeOf(family, method), dtype: 'float16' })).toMatch(
      new RegExp(`^NON_FINITE: .*${up}\\[\\d+, \\d+\\] of the output \\(-?Infinity`, 's'),
    );
  });
});
