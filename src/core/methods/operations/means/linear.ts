import * as z from 'zod';
import type { Operation } from '../program/operation.js';
import type { Value } from '../program/program.js';
import { describeSum } from '../program/words.js';

/** Σ weight·tensor in float32, in the order of terms, rounded once. Weights need not sum to 1. */
export interface Linear<T> {
  readonly kind: 'linear';
  readonly terms: readonly { readonly source: T; readonly weight: number }[];
}

export const linear = {
  schema: z.strictObject({
    kind: z.literal('linear'),
    terms: z.array(z.strictObject({ source: z.unknown(), weight: z.number() })).min(1),
  }),
  map: <T, U>(formula: Linear<T>, to: (operand: T) => U): Linear<U> => ({
    ...formula,
    terms: formula.terms.map((term) => ({ ...term, source: to(term.source) })),
  }),
  describe: ({ terms }) => describeSum(terms.map(({ source, weight }) => [weight, source])),
  figures: ({ terms }) => terms.map(({ source, weight }) => ({ name: 'weight', of: source, value: weight })),
  key: ({ terms }) => `linear ${terms.map(({ source, weight }) => `${weight} ${source}`).join(' ')}`,
  lower: ({ terms }, dtype, { program }) =>
    program.linear(
      terms.map(({ source }) => source),
      terms.map(({ weight }) => weight),
      dtype,
    ),
} satisfies Operation<Linear<unknown>, Linear<string>, Linear<Value>>;
