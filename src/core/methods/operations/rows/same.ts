import * as z from 'zod';
import type { Operation } from '../program/operation.js';
import type { Value } from '../program/program.js';

/** Copies the first source if all are equal, for integers, which cannot be averaged. */
export interface Same<T> {
  readonly kind: 'same';
  readonly sources: readonly T[];
}

export const same = {
  schema: z.strictObject({ kind: z.literal('same'), sources: z.array(z.unknown()).min(1) }),
  takesBits: true,
  isMove: true,
  map: <T, U>(formula: Same<T>, to: (operand: T) => U): Same<U> => ({
    ...formula,
    sources: formula.sources.map(to),
  }),
  describe: ({ sources: [first = ''] }) => first,
  figures: ({ sources: [first = ''] }) => [{ name: 'weight', of: first, value: 1 }],
  key: ({ sources }) => `same ${sources.join(' ')}`,
  lower: (_formula, _dtype, { tensor }) => {
    throw new Error(`${tensor}: tensors that must be equal are compared, not lowered to a program`);
  },
} satisfies Operation<Same<unknown>, Same<string>, Same<Value>>;
