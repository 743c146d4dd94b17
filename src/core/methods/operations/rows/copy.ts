import * as z from 'zod';
import type { Operation } from '../program/operation.js';
import type { Value } from '../program/program.js';

/** A tensor copied byte for byte. */
export interface Copy<T> {
  readonly kind: 'copy';
  readonly source: T;
}

export const copy = {
  schema: z.strictObject({ kind: z.literal('copy'), source: z.unknown() }),
  takesBits: true,
  isMove: true,
  map: <T, U>(formula: Copy<T>, to: (operand: T) => U): Copy<U> => ({
    ...formula,
    source: to(formula.source),
  }),
  describe: ({ source }) => source,
  figures: ({ source }) => [{ name: 'weight', of: source, value: 1 }],
  key: ({ source }) => `copy ${source}`,
  lower: ({ source }) => source,
} satisfies Operation<Copy<unknown>, Copy<string>, Copy<Value>>;
