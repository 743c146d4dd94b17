import * as z from 'zod';
import { itemAt } from '../../../base/errors/lookup.js';
import { bitsOf } from '../../../tensor/dtype.js';
import { decodeKept, isKept } from '../../../tensor/kept.js';
import type { Shape } from '../../../tensor/reference.js';
import type { Rows } from '../../../tensor/rows.js';
import type { Operation } from '../program/operation.js';
import type { Value } from '../program/program.js';

/** Copies rows from `source` if their bit in `kept` (base64, tensor/kept.ts) is 1, else from `base`. */
export interface RowSelect<T> {
  readonly kind: 'rowSelect';
  readonly source: T;
  readonly base: T;
  readonly rows: Rows;
  readonly kept: string;
}

/** Counts rows: the extent of dimension 1 for input rows, of dimension 0 for output rows. */
const rowsIn = (shape: Shape, rows: Rows): number => itemAt(shape, rows === 'input' ? 1 : 0);

export const rowSelect = {
  schema: z.strictObject({
    kind: z.literal('rowSelect'),
    source: z.unknown(),
    base: z.unknown(),
    rows: z.enum(['input', 'output']),
    kept: z.string(),
  }),
  takesBits: true,
  map: <T, U>(formula: RowSelect<T>, to: (operand: T) => U): RowSelect<U> => ({
    ...formula,
    source: to(formula.source),
    base: to(formula.base),
  }),
  refusal: ({ rows, kept }, { shape, dtype }) => {
    if (shape.length !== 2 || !isKept(kept, rowsIn(shape, rows)))
      return 'its kept rows do not match its shape: one bit for each row of a matrix';
    return bitsOf(dtype) % 8 === 0
      ? undefined
      : `rows of ${dtype} cannot be selected: its elements are not whole bytes`;
  },
  describe: ({ source, base }) => `${source} in part, else ${base}`,
  figures: ({ source, rows, kept }, shape) => {
    const count = rowsIn(shape, rows);
    const share = count === 0 ? 0 : decodeKept(kept, count).reduce((sum, keeps) => sum + keeps, 0) / count;
    return [{ name: 'rows kept', of: source, value: share }];
  },
  lower: ({ source: value, base, rows, kept }, dtype, { program }) => {
    const decoded = decodeKept(kept, rowsIn(program.shape, rows));
    return program.select({ value, base, rows, kept: decoded, dtype });
  },
} satisfies Operation<RowSelect<unknown>, RowSelect<string>, RowSelect<Value>>;
