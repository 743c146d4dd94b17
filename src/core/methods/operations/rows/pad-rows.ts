import * as z from 'zod';
import type { Operation, Statistic } from '../program/operation.js';
import type { Value } from '../program/program.js';
import { rowWidth } from './assemble.js';

/** The first `from` rows, then rows equal to their mean (float64, rounded to float32, then the dtype). */
export interface PadRows<T> {
  readonly kind: 'padRows';
  readonly source: T;
  readonly from: number;
}

export const padRows = {
  schema: z.strictObject({ kind: z.literal('padRows'), source: z.unknown(), from: z.int().positive() }),
  map: <T, U>(formula: PadRows<T>, to: (operand: T) => U): PadRows<U> => ({
    ...formula,
    source: to(formula.source),
  }),
  statistics: <T>({ source }: PadRows<T>): readonly Statistic<T>[] => [
    { what: 'means of columns', operands: [source] },
  ],
  refusal: ({ from }, { shape }) =>
    shape.length === 2 && from <= (shape[0] ?? 0)
      ? undefined
      : 'only a matrix is padded, behind some of its own rows',
  describe: ({ source }) => source,
  figures: ({ source }) => [{ name: 'weight', of: source, value: 1 }],
  lower: async ({ source, from }, dtype, { program, measurer }) => {
    const value = program.dtypeOf(source) === dtype ? source : program.linear([source], [1], dtype);
    const width = rowWidth(program.shape);
    const before = program.assemble({ values: [value], width, runs: [0, 0, from], dtype });
    const sums = await measurer.columnSums(program, before);
    return program.fillRows({ value: before, from, values: sums.map((sum) => sum / from), dtype });
  },
} satisfies Operation<PadRows<unknown>, PadRows<string>, PadRows<Value>>;
