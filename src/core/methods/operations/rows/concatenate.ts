import * as z from 'zod';
import { itemAt } from '../../../base/errors/lookup.js';
import { bitsOf } from '../../../tensor/dtype.js';
import { elementsOf } from '../../../tensor/reference.js';
import type { Operation } from '../program/operation.js';
import type { Value } from '../program/program.js';
import { sharedList } from '../program/shared-list.js';
import { describeSum } from '../program/words.js';

/**
 * Concatenates matrices along `rows` or `columns`. Each part is multiplied by its factor and rounded once;
 * with factor 1 and the output's dtype it is copied bit for bit. Operands have the output's shape, but only
 * their part's rows or columns are read. Sums of low-rank changes concatenate all A by rows and all B by
 * columns.
 */
export interface Concatenate<T> {
  readonly kind: 'concatenate';
  readonly along: 'rows' | 'columns';
  readonly parts: readonly {
    readonly source: T;
    readonly count: number;
    readonly factor: number;
    readonly weight: number;
  }[];
}

/** Returns the greatest common divisor of the parts' numbers of columns, the unit of all runs. */
export const commonWidth = (counts: readonly number[]): number =>
  counts.reduce((a, b) => {
    while (b > 0) [a, b] = [b, a % b];
    return a;
  });

const totalOf = ({ parts }: Concatenate<unknown>): number =>
  parts.reduce((total, { count }) => total + count, 0);

/** Interleaves `counts` columns of each part in every row, in units of `width`. */
const runsOf = (rows: number, counts: readonly number[], width: number): number[] => {
  const runs: number[] = [];
  let to = 0;
  for (let row = 0; row < rows; row += 1)
    for (const [part, count] of counts.entries()) {
      runs.push(to, part, count / width);
      to += count / width;
    }
  return runs;
};

export const concatenate = {
  schema: z.strictObject({
    kind: z.literal('concatenate'),
    along: z.enum(['rows', 'columns']),
    parts: z
      .array(
        z.strictObject({
          source: z.unknown(),
          count: z.int().positive(),
          factor: z.number(),
          weight: z.number(),
        }),
      )
      .min(1),
  }),
  map: <T, U>(formula: Concatenate<T>, to: (operand: T) => U): Concatenate<U> => ({
    ...formula,
    parts: formula.parts.map((part) => ({ ...part, source: to(part.source) })),
  }),
  refusal: (formula, { shape, dtype }) => {
    if (shape.length !== 2 || elementsOf(shape) === 0)
      return 'it is no matrix that could be put together of others';
    if (bitsOf(dtype) % 8 !== 0)
      return `matrices of ${dtype} cannot be put together: its elements are not whole bytes`;
    return totalOf(formula) === shape[formula.along === 'rows' ? 0 : 1]
      ? undefined
      : `its parts do not have its ${formula.along}`;
  },
  describe: ({ parts }) => describeSum(parts.map(({ source, weight }) => [weight, source])),
  figures: ({ parts }) => parts.map(({ source, weight }) => ({ name: 'weight', of: source, value: weight })),
  key: ({ along, parts }) =>
    `${along} ${parts.map(({ source, count, factor }) => `${count} of ${factor} ${source}`).join(' ')}`,
  lower: (formula, dtype, { program }) => {
    const [rows, columns] = [itemAt(program.shape, 0), itemAt(program.shape, 1)];
    const counts = formula.parts.map(({ count }) => count);
    const isSideBySide = formula.along === 'columns';
    const width = isSideBySide ? commonWidth(counts) : columns;
    const runs = isSideBySide
      ? sharedList(`${rows} rows of ${counts.join(' + ')}`, () => runsOf(rows, counts, width))
      : runsOf(1, counts, 1);
    const values = formula.parts.map(({ source, factor }) =>
      factor === 1 && program.dtypeOf(source) === dtype ? source : program.linear([source], [factor], dtype),
    );
    return program.assemble({ values, width, runs, dtype });
  },
} satisfies Operation<Concatenate<unknown>, Concatenate<string>, Concatenate<Value>>;
