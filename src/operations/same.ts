import { z } from 'zod';
import type { Operation } from './operation.js';
import type { Value } from './program.js';

/** Integers that would be averaged: the first tensor's bytes, once all are found equal. */
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
  key: ({ sources }) => `same ${sources.join(' ')}`,
  lower: (_formula, _dtype, { tensor }) => {
    throw new Error(`${tensor}: integers are compared, not computed with`);
  },
} satisfies Operation<Same<unknown>, Same<string>, Same<Value>>;
