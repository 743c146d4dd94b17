import { describe, expect, it } from 'vitest';
import { type ReducedTensor, runReductions } from '../../src/core/engine/compute/measures/reduce.js';
import type { LowRankChange } from '../../src/core/models/adapters/kinds/lora.js';
import { additionOf, operandOf } from '../../src/core/plan/adapted.js';
import { sourcesOfTensors } from '../../src/core/plan/operands.js';
import type { PlannedInput } from '../../src/core/plan/plan.js';
import type { PlannedDifference, PlannedReduction } from '../../src/core/plan/reports/reduction.js';
import type { TensorReference } from '../../src/core/tensor/reference.js';
import type { Rows } from '../../src/core/tensor/rows.js';
import { planMerge } from '../../src/index.js';
import { type TensorFixture, type Tensors, writeCheckpoint } from '../fixtures/checkpoints.js';
import { type AdaptedFamily, productOf, transpose, writeAdapted } from '../fixtures/low-rank.js';
import { readTensors } from '../fixtures/merged.js';
import { decode, encode, type Floating } from '../fixtures/numbers.js';

const name = 'model.layers.0.mlp.up_proj.weight';
const [rows, columns] = [70, 131];

const numbersOf = ({ dtype, data }: TensorFixture): number[] => decode(dtype as Floating, data);

const openAll = async (paths: readonly string[]) => {
  const inputs: PlannedInput[] = [];
  const references: Map<string, TensorReference>[] = [];
  for (const path of paths) {
    const plan = await planMerge({ method: 'relayout', model: path });
    inputs.push(...plan.inputs);
    const tensors = plan.shards.flatMap((shard) => shard.tensors);
    references.push(
      new Map(
        tensors.map((tensor) => {
          const [source] = sourcesOfTensors([tensor]);
          if (source === undefined) throw new Error(tensor.name);
          return [tensor.name, { ...source, shape: tensor.shape }];
        }),
      ),
    );
  }
  const at = (input: number, tensor: string): TensorReference => {
    const found = references[input]?.get(tensor);
    if (found === undefined) throw new Error(tensor);
    return found;
  };
  return { inputs, at };
};

/** s · B · A of an expert, in float32 steps. */
const changeIn = (family: AdaptedFamily, expert: 'a' | 'b', factors: Tensors): number[] => {
  const { rank, scale, transposed } = family.adaptations[expert];
  const [a, b] = [factors[`${name}.A`], factors[`${name}.B`]].map((one) => numbersOf(one as TensorFixture));
  const product = productOf(a ?? [], b ?? [], rank);
  const delta = transposed ? transpose(product, rows) : product;
  return delta.map((x) => Math.fround(Math.fround(scale) * x));
};

const magnitudesOf = (delta: readonly number[], along: Rows): number[] => {
  const sums = Array<number>(along === 'input' ? columns : rows).fill(0);
  for (const [i, x] of delta.entries()) {
    const row = along === 'input' ? i % columns : Math.floor(i / columns);
    sums[row] = (sums[row] ?? 0) + Math.abs(x);
  }
  return sums;
};

const reduce = async (
  inputs: readonly PlannedInput[],
  experts: readonly PlannedDifference[],
  base: PlannedReduction['base'] = null,
  along: Rows = 'output',
): Promise<ReducedTensor & { readonly bytesRead: number }> => {
  const tensor: PlannedReduction = { name, shape: [rows, columns], rows: along, base, experts };
  const { tensors, bytesRead } = await runReductions(
    { inputs, tensors: [tensor], pairs: true },
    { threads: 2 },
    (found) => found,
  );
  return { ...(tensors[0] as ReducedTensor), bytesRead };
};

const adapted = async () => {
  const family = await writeAdapted({ [name]: [rows, columns] });
  const { inputs, at } = await openAll([family.base, family.a, family.b, family.factors.a, family.factors.b]);
  const difference = (expert: 'a' | 'b'): Extract<PlannedDifference, { kind: 'change' }> => {
    const input = expert === 'a' ? 3 : 4;
    const { rank, scale, transposed } = family.adaptations[expert];
    const change: LowRankChange = {
      ...{ kind: 'lowRank', rank, scale, transposed },
      a: at(input, `${name}.A`),
      b: at(input, `${name}.B`),
    };
    const addition = additionOf(input, change);
    if (addition === undefined) throw new Error('a product is added');
    return { kind: 'change', ...addition };
  };
  const deltas = {
    a: changeIn(family, 'a', await readTensors(family.factors.a)),
    b: changeIn(family, 'b', await readTensors(family.factors.b)),
  };
  return { family, inputs, at, difference, deltas };
};

const close = (found: ArrayLike<number> | undefined, expected: readonly number[]) => {
  expect(found?.length).toBe(expected.length);
  for (const [index, x] of expected.entries()) expect(found?.[index]).toBeCloseTo(x, 9);
};

describe('the difference of an adapter from its base', () => {
  it.each<Rows>(['output', 'input'])('is summed by %s rows without the base', async (along) => {
    const { inputs, at, difference, deltas } = await adapted();
    const { magnitudes, nonFinite, bytesRead } = await reduce(
      inputs,
      [difference('a'), { kind: 'none' }, difference('b')],
      null,
      along,
    );
    close(magnitudes[0], magnitudesOf(deltas.a, along));
    close(magnitudes[1], Array(along === 'input' ? columns : rows).fill(0));
    close(magnitudes[2], magnitudesOf(deltas.b, along));
    expect(nonFinite).toEqual([0, 0, 0, 0]);
    const factors = [at(3, `${name}.A`), at(3, `${name}.B`), at(4, `${name}.A`), at(4, `${name}.B`)];
    expect(bytesRead).toBe(factors.reduce((bytes, { begin, end }) => bytes + end - begin, 0));
  });

  it('overlaps with those of full checkpoints and of other adapters', async () => {
    const { family, inputs, at, difference, deltas } = await adapted();
    const full: PlannedDifference = { kind: 'tensor', tensor: operandOf(1, at(1, name)) };
    const experts = [difference('a'), { kind: 'none' } as const, difference('b'), full];
    const { pairs, magnitudes } = await reduce(inputs, experts, operandOf(0, at(0, name)));
    const [base, a] = await Promise.all(
      [family.base, family.a].map(async (path) =>
        numbersOf((await readTensors(path))[name] as TensorFixture),
      ),
    );
    const ofFull = (a ?? []).map((x, i) => Math.fround(x - (base?.[i] ?? 0)));
    close(magnitudes[3], magnitudesOf(ofFull, 'output'));
    const vectors = [deltas.a, deltas.a.map(() => 0), deltas.b, ofFull];
    const expected: number[] = [];
    for (const [i, x] of vectors.entries())
      for (const [j, y] of vectors.entries()) {
        if (j < i) continue;
        const products = x.map((one, at) => Math.fround(one * (y[at] ?? 0)));
        const signs = i === j ? [] : products;
        expected.push(products.reduce((sum, one) => sum + one, 0));
        expected.push(signs.filter((one) => one !== 0).length, signs.filter((one) => one > 0).length);
      }
    expect(pairs).toHaveLength(expected.length);
    for (const [index, sum] of expected.entries())
      if (index % 3 === 0) expect(pairs[index]).toBeCloseTo(sum, 5);
      else expect(pairs[index]).toBe(sum);
  });

  it('reads nothing where no expert differs', async () => {
    const { inputs } = await adapted();
    expect(await reduce(inputs, [{ kind: 'none' }, { kind: 'none' }])).toMatchObject({
      magnitudes: [new Float64Array(rows), new Float64Array(rows)],
      pairs: new Float64Array(9),
      nonFinite: [0, 0, 0],
      bytesRead: 0,
    });
  });

  it('counts what is not finite, and leaves it out of overlaps', async () => {
    const { family, difference } = await adapted();
    const factors = await readTensors(family.factors.a);
    const b = factors[`${name}.B`] as TensorFixture;
    const numbers = numbersOf(b);
    numbers[8] = Number.NaN;
    const broken = { ...b, data: encode(b.dtype as Floating, numbers) };
    writeCheckpoint(family.factors.a, { tensors: { ...factors, [`${name}.B`]: broken } });
    const { inputs } = await openAll([family.base, family.a, family.b, family.factors.a, family.factors.b]);
    const { nonFinite, magnitudes } = await reduce(inputs, [difference('b'), difference('a')]);
    // The rank is 8, so row 1 has the value.
    expect(nonFinite).toEqual([0, 0, columns]);
    expect([...(magnitudes[1] ?? [])].map(Number.isNaN)).toEqual(
      Array.from({ length: rows }, (_, row) => row === 1),
    );
  });
});
