import * as z from 'zod';
import { factorDtypes } from '../../../native/solve.js';
import { madeWhole, type Operation } from '../program/operation.js';
import type { Value } from '../program/program.js';
import { describeSum } from '../program/words.js';

/**
 * A factor of Δ = Σ coefficient·source: the left [rows, rank] or right [rank, columns] singular vectors of
 * the largest singular values σ, times √σ. A matrix's two factors have equal `of` and share a shard, because
 * one job makes both.
 */
export interface Factor<T> {
  readonly kind: 'factor';
  /** The changed parameter. */
  readonly of: string;
  readonly side: 'left' | 'right';
  readonly shape: readonly [number, number];
  readonly terms: readonly {
    readonly source: T;
    readonly coefficient: number;
    readonly weight: number;
  }[];
}

const extent = z.int().positive();

/** Columns of the sketch: 1.5 times the rank, in panels of 16, as in native/jobs/factorise.cpp. */
const sketchOf = (rank: number, most: number): number =>
  16 * Math.ceil(Math.min(rank + Math.max(10, Math.floor(rank / 2)), most) / 16);

const [tileRows, tileElements] = [64, 4 * 1024 * 1024];

export const factor = {
  schema: z.strictObject({
    kind: z.literal('factor'),
    of: z.string(),
    side: z.enum(['left', 'right']),
    shape: z.tuple([extent, extent]),
    terms: z
      .array(z.strictObject({ source: z.unknown(), coefficient: z.number(), weight: z.number() }))
      .min(1),
  }),
  map: <T, U>(formula: Factor<T>, to: (operand: T) => U): Factor<U> => ({
    ...formula,
    terms: formula.terms.map((term) => ({ ...term, source: to(term.source) })),
  }),
  ...madeWhole,
  // A thread's memory: in float64 the basis, four small squares and perhaps a second basis; in float32 the basis,
  // perhaps the product with both factors, and each tile's sum and terms.
  threadBytes: ({ side, shape: [rows, columns], terms }, shape) => {
    const rank = Number(shape[side === 'left' ? 1 : 0]);
    const width = sketchOf(rank, Math.min(rows, columns));
    return (
      12 * columns * width +
      32 * width ** 2 +
      Math.max(8 * columns * width, 4 * rows * width + 4 * (rows + columns) * rank) +
      4 * Math.min(tileRows * columns, tileElements) * (terms.length + 1)
    );
  },
  lighter: () => 'a smaller rank',
  operandShapes: ({ terms, shape }) => terms.map(() => shape),
  refusal: ({ side, shape: [rows, columns] }, { shape, dtype }) => {
    if (!factorDtypes.some((one) => one === dtype)) return `factors are not written in ${dtype}`;
    const [first, second, more] = shape;
    const rank = Number(side === 'left' ? second : first);
    if (more !== undefined || (side === 'left' ? first !== rows : second !== columns))
      return 'it is no factor of its matrix';
    return rank >= 1 && rank <= Math.min(rows, columns) ? undefined : `its rank is ${rank}`;
  },
  // Leaves out weights, which only serve descriptions.
  key: ({ of, side, shape, terms }) =>
    `${side} of ${of} ${shape.join('×')} ${terms.map(({ source, coefficient }) => `${coefficient} ${source}`).join(' ')}`,
  describe: ({ terms }) => describeSum(terms.map(({ source, weight }) => [weight, source])),
  figures: ({ terms }) => terms.map(({ source, weight }) => ({ name: 'weight', of: source, value: weight })),
} satisfies Operation<Factor<unknown>, Factor<string>, Factor<Value>>;
