import * as z from 'zod';
import { counted } from '../../../base/format.js';
import { bitsOf } from '../../../tensor/dtype.js';
import { elementsOf, type Shape } from '../../../tensor/reference.js';
import type { Operation } from '../program/operation.js';
import type { Value } from '../program/program.js';

/** A range of an operand's rows. An operand's ranges ascend without overlaps. */
export type RowRange = readonly [first: number, count: number];

/** Copies rows (dimension 0) to the same indexes; other rows are 0. The first part is the largest. */
export interface Assemble<T> {
  readonly kind: 'assemble';
  readonly parts: readonly { readonly source: T; readonly rows: readonly RowRange[] }[];
}

export const rowWidth = (shape: Shape): number => elementsOf(shape.slice(1));

const runsOf = ({ parts }: Assemble<unknown>): (readonly [to: number, part: number, count: number])[] =>
  parts
    .flatMap(({ rows }, part) => rows.map(([first, count]) => [first, part, count] as const))
    .sort(([a], [b]) => a - b);

export const refuseRanges = (
  ranges: readonly (readonly [first: number, ...rest: unknown[], count: number])[],
  rows: number,
): string | undefined => {
  let next = 0;
  for (const range of ranges) {
    const [first, count] = [range[0], range.at(-1) as number];
    if (count < 1 || first < next || first + count > rows)
      return 'its ranges of rows are not ascending, disjoint and within its shape';
    next = first + count;
  }
  return undefined;
};

const range = z.tuple([z.int().nonnegative(), z.int().positive()]);

export const assemble = {
  schema: z.strictObject({
    kind: z.literal('assemble'),
    parts: z.array(z.strictObject({ source: z.unknown(), rows: z.array(range) })).min(1),
  }),
  takesBits: true,
  map: <T, U>(formula: Assemble<T>, to: (operand: T) => U): Assemble<U> => ({
    ...formula,
    parts: formula.parts.map((part) => ({ ...part, source: to(part.source) })),
  }),
  refusal: (formula, { shape, dtype }) => {
    const [rows] = shape;
    if (rows === undefined || elementsOf(shape) === 0) return 'it has no rows that could be put together';
    if (bitsOf(dtype) % 8 !== 0)
      return `rows of ${dtype} cannot be put together: its elements are not whole bytes`;
    return refuseRanges(runsOf(formula), rows);
  },
  describe: ({ parts: [main, ...others] }) => {
    const words = others.map(({ source, rows }) => {
      const count = rows.reduce((total, [, more]) => total + more, 0);
      return `${counted(count, 'row')} of ${source}`;
    });
    return words.length === 0 ? `${main?.source}` : `${main?.source} with ${words.join(' and ')}`;
  },
  lower: (formula, dtype, { program }) =>
    program.assemble({
      values: formula.parts.map(({ source }) => source),
      width: rowWidth(program.shape),
      runs: runsOf(formula).flat(),
      dtype,
    }),
} satisfies Operation<Assemble<unknown>, Assemble<string>, Assemble<Value>>;
