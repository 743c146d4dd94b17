import * as z from 'zod';
import type { Operation } from '../program/operation.js';
import type { Value } from '../program/program.js';
import { decimals } from '../program/words.js';

/**
 * Σ wᵢxᵢ / Σ wᵢ by element with wᵢ = weight·(importance + eps) (Matena & Raffel 2022), in fusion-bench's
 * order. The result is undefined for a negative importance.
 */
export interface Fisher<T> {
  readonly kind: 'fisher';
  readonly terms: readonly { readonly source: T; readonly importance: T; readonly weight: number }[];
  readonly eps: number;
}

export const fisher = {
  schema: z.strictObject({
    kind: z.literal('fisher'),
    terms: z
      .array(z.strictObject({ source: z.unknown(), importance: z.unknown(), weight: z.number().positive() }))
      .min(1),
    eps: z.number().positive(),
  }),
  map: <T, U>(formula: Fisher<T>, to: (operand: T) => U): Fisher<U> => ({
    ...formula,
    terms: formula.terms.map((term) => ({
      ...term,
      source: to(term.source),
      importance: to(term.importance),
    })),
  }),
  describe: ({ terms }) =>
    `mean of ${terms.map(({ source, importance, weight }) => `${source} by ${decimals(weight)} ${importance}`).join(', ')}`,
  figures: ({ terms }) => terms.map(({ source, weight }) => ({ name: 'weight', of: source, value: weight })),
  lower: ({ terms, eps }, dtype, { program }) =>
    program.fisher({
      values: terms.map(({ source }) => source),
      importances: terms.map(({ importance }) => importance),
      weights: terms.map(({ weight }) => weight),
      eps,
      dtype,
    }),
} satisfies Operation<Fisher<unknown>, Fisher<string>, Fisher<Value>>;
