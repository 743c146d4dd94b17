import * as z from 'zod';
import type { Operation } from '../program/operation.js';
import type { Value } from '../program/program.js';
import { decimals } from '../program/words.js';

/** base + (source − base)·clamp(t/|source − base|, 0, 1). */
export interface NearSwap<T> {
  readonly kind: 'nearSwap';
  readonly base: T;
  readonly source: T;
  readonly t: number;
}

export const nearSwap = {
  schema: z.strictObject({
    kind: z.literal('nearSwap'),
    base: z.unknown(),
    source: z.unknown(),
    t: z.number(),
  }),
  map: <T, U>(formula: NearSwap<T>, to: (operand: T) => U): NearSwap<U> => ({
    ...formula,
    base: to(formula.base),
    source: to(formula.source),
  }),
  describe: ({ base, source, t }) => `${base} towards ${source} by ${decimals(t)}`,
  figures: ({ t }) => [{ name: 't', of: null, value: t }],
  lower: ({ base, source: value, t }, dtype, { program }) => program.nearSwap({ base, value, t, dtype }),
} satisfies Operation<NearSwap<unknown>, NearSwap<string>, NearSwap<Value>>;
