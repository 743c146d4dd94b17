import * as z from 'zod';
import { factorDtypes } from '../native/factorise.js';
import type { Operation } from './operation.js';
import type { Value } from './program.js';
import { describeSum } from './words.js';

/**
 * One factor of a matrix of `shape`, Δ = Σ coefficient · source: of its truncated singular value decomposition
 * left · right, √σ on both sides. Left is [rows, rank], right [rank, columns]. The two factors of a matrix stand in one
 * shard under the same `of`, and the engine makes them together, in a job of its own kind.
 */
export interface Factor<T> {
  readonly kind: 'factor';
  /** The matrix: the name of the parameter that it changes. */
  readonly of: string;
  readonly side: 'left' | 'right';
  /** [rows, columns] of Δ. */
  readonly shape: readonly [number, number];
  readonly terms: readonly {
    readonly source: T;
    readonly coefficient: number;
    /** Weight of the model that the term is of, for words and pictures: no element depends on it. */
    readonly weight: number;
  }[];
}

const extent = z.int().positive();

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
  isWhole: true,
  operandShapes: ({ terms, shape }) => terms.map(() => shape),
  refusal: ({ side, shape: [rows, columns] }, { shape, dtype }) => {
    if (!factorDtypes.some((one) => one === dtype)) return `factors are not written in ${dtype}`;
    const [first, second, more] = shape;
    const rank = Number(side === 'left' ? second : first);
    if (more !== undefined || (side === 'left' ? first !== rows : second !== columns))
      return 'it is no factor of its matrix';
    return rank >= 1 && rank <= Math.min(rows, columns) ? undefined : `its rank is ${rank}`;
  },
  // Weights are words alone.
  key: ({ of, side, shape, terms }) =>
    `${side} of ${of} ${shape.join('×')} ${terms.map(({ source, coefficient }) => `${coefficient} ${source}`).join(' ')}`,
  describe: ({ terms }) => describeSum(terms.map(({ source, weight }) => [weight, source])),
  figures: ({ terms }) => terms.map(({ source, weight }) => ({ name: 'weight', of: source, value: weight })),
  lower: ({ of }): Value => {
    throw new Error(`a factor of ${of} is made by a job of its own, and not by a program`);
  },
} satisfies Operation<Factor<unknown>, Factor<string>, Factor<Value>>;
