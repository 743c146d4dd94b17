import * as z from 'zod';
import { itemAt } from '../../../base/errors/lookup.js';
import { bitsOfFloat } from '../../../tensor/float-bits.js';
import { difference } from '../program/lowering.js';
import { nothing } from '../program/magnitude-bounds.js';
import type { Operation } from '../program/operation.js';
import type { Value } from '../program/program.js';
import { decimals } from '../program/words.js';
import { mostTaskVectors, tooManyTaskVectors } from './consensus.js';

/**
 * base + Σ mᵢδᵢ / c with δᵢ = sourceᵢ − base. mᵢ is 1 if |δᵢ| > `epsilon`, else 0; c = Σ mᵢ at the element
 * (vectors/ram.ts). `bonus` multiplies a change by only one model by 1 + rate·min(ρᵢ, most)
 * (vectors/ramplus-tl.ts).
 */
export interface Ram<T> {
  readonly kind: 'ram';
  readonly base: T;
  readonly sources: readonly T[];
  readonly epsilon: number;
  readonly bonus: { readonly rate: number; readonly most: number } | null;
}

export const ram = {
  schema: z.strictObject({
    kind: z.literal('ram'),
    base: z.unknown(),
    sources: z.array(z.unknown()).min(1),
    epsilon: z.number().nonnegative(),
    bonus: z.strictObject({ rate: z.number(), most: z.number().nonnegative() }).nullable(),
  }),
  map: <T, U>(formula: Ram<T>, to: (operand: T) => U): Ram<U> => ({
    ...formula,
    base: to(formula.base),
    sources: formula.sources.map(to),
  }),
  statistics: <T>({ base, sources, bonus }: Ram<T>) =>
    bonus === null ? [] : [{ what: 'overlaps', operands: [base, ...sources] }],
  refusal: ({ sources }) => (sources.length > mostTaskVectors ? tooManyTaskVectors : undefined),
  describe: ({ base, sources, epsilon, bonus }) =>
    `${base} + mean of the changes above ${decimals(epsilon)} of ${sources.join(', ')}` +
    (bonus === null
      ? ''
      : `, those of one alone · (1 + ${decimals(bonus.rate)} · ρ up to ${decimals(bonus.most)})`),
  figures: ({ epsilon, bonus }) => [
    { name: 'epsilon', of: null, value: epsilon },
    ...(bonus === null
      ? []
      : [
          { name: 'r', of: null, value: bonus.rate },
          { name: 'alpha', of: null, value: bonus.most },
        ]),
  ],
  lower: async ({ base, sources, epsilon, bonus }, dtype, to) => {
    const { program, measurer } = to;
    const bits = bitsOfFloat(epsilon);
    const differences = sources.map((source) => difference(to, source, base));
    const counts = bonus === null ? undefined : await measurer.alone(program, differences, bits);
    const alone = sources.map((_, index) => {
      if (bonus === null || counts === undefined) return 1;
      const unique = itemAt(counts, 2 * index + 1);
      const overlap = itemAt(counts, 2 * index) - unique;
      const ratio = Math.max(0, Math.min(bonus.most, overlap / Math.max(unique, epsilon)));
      return 1 + bonus.rate * ratio;
    });
    const lower = { bits, cutoff: 0, early: true } as const;
    return program.vote({
      base,
      changes: differences.map((value) =>
        program.keep({ value, by: value, lower, upper: nothing, scale: 1 }),
      ),
      weights: [...sources.map(() => 1), ...alone],
      election: 'each',
      divisor: 'count',
      least: 0,
      scale: 1,
      dtype,
    });
  },
} satisfies Operation<Ram<unknown>, Ram<string>, Ram<Value>>;
