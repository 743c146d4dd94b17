import { z } from 'zod';
import { bitsOf } from '../tensor/dtype.js';
import { decodeKept, isKept } from '../tensor/kept.js';
import type { Shape } from '../tensor/reference.js';
import type { Rows } from '../tensor/rows.js';
import type { Operation } from './operation.js';
import type { Value } from './program.js';

/** Rows of a matrix where `kept` (a bit for each row, lowest first, in base64) is 1, those of `base` elsewhere, byte for byte. */
export interface RowSelect<T> {
  readonly kind: 'rowSelect';
  readonly source: T;
  readonly base: T;
  readonly rows: Rows;
  readonly kept: string;
}

/** Rows of a matrix: along dimension 1 by input features, along dimension 0 by output ones. */
const rowsIn = (shape: Shape, rows: Rows): number | undefined => shape[rows === 'input' ? 1 : 0];

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
    const count = shape.length === 2 ? rowsIn(shape, rows) : undefined;
    if (count === undefined || !isKept(kept, count)) return 'its kept rows are not those of its shape';
    // Rows are moved by whole bytes.
    return bitsOf(dtype) % 8 === 0 ? undefined : `its rows are not ${dtype}`;
  },
  describe: ({ source, base }) => `${source} in part, else ${base}`,
  lower: ({ source: value, base, rows, kept }, dtype, { program }) => {
    const count = rowsIn(program.shape, rows) ?? 0;
    return program.select({ value, base, rows, kept: decodeKept(kept, count), dtype });
  },
} satisfies Operation<RowSelect<unknown>, RowSelect<string>, RowSelect<Value>>;
