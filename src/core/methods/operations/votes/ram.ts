import * as z from 'zod';
import { itemAt } from '../../../base/errors/lookup.js';
import { bitsOfFloat } from '../../../tensor/float-bits.js';
import { difference } from '../program/lowering.js';
import { nothing } from '../program/magnitude-bounds.js';
import type { Operation } from '../program/operation.js';
import type { Program, Value } from '../program/program.js';
import { decimals } from '../program/words.js';
import { mostTaskVectors } from './consensus.js';

/**
 * base + Σ mᵢδᵢ / c with δᵢ = sourceᵢ − base. mᵢ is 1 if |δᵢ| > `epsilon`, otherwise 0; c = Σ mᵢ at the
 * element (vectors/ram.ts). `bonus` multiplies a change by only one model by 1 + rate · min(ρᵢ, most)
 * (vectors/ramplus-tl.ts).
 */
export interface Ram<T> {
  readonly kind: 'ram';
  readonly base: T;
  readonly sources: readonly T[];
  readonly epsilon: number;
  readonly bonus: { readonly rate: number; readonly most: number } | null;
}

/** A vote needs two inputs for each task vector. */
const most = mostTaskVectors / 2;

/** Keeps |v| > x. */
const above = (x: number) => ({ bits: bitsOfFloat(x), cutoff: 0, early: true }) as const;

const everything = { bits: 0, cutoff: Number.MAX_SAFE_INTEGER, early: true } as const;

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
  refusal: ({ sources }) =>
    sources.length > most ? `it combines more than ${most} task vectors` : undefined,
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
    let changes: readonly Value[] = sources.map((source) => {
      const value = difference(to, source, base);
      return program.keep({ value, by: value, lower: above(epsilon), upper: nothing, scale: 1 });
    });
    if (bonus !== null) {
      const shared = sharedBy(program, changes);
      const alone = changes.map((value) =>
        program.keep({ value, by: shared, lower: everything, upper: above(0), scale: 1 }),
      );
      const zeros = await measurer.zeros(program, [...changes, ...alone]);
      changes = changes.map((value, index) => {
        const unique = program.elements - itemAt(zeros, changes.length + index);
        const overlap = program.elements - itemAt(zeros, index) - unique;
        const ratio = Math.max(0, Math.min(bonus.most, overlap / Math.max(unique, epsilon)));
        const together = program.keep({ value, by: shared, lower: above(0), upper: nothing, scale: 1 });
        return program.linear([together, itemAt(alone, index)], [1, 1 + bonus.rate * ratio]);
      });
    }
    return program.vote({ base, ...counted(program, changes, -1), scale: 1, dtype });
  },
} satisfies Operation<Ram<unknown>, Ram<string>, Ram<Value>>;

/**
 * Returns inputs for a vote that counts each nonzero change once. Each change is paired with its negative, so
 * that signs cancel; the vote then elects the positive one of each pair.
 *
 * @param sign weight of the negatives: −1 sums the changes, 1 their magnitudes
 */
const counted = (program: Program, changes: readonly Value[], sign: 1 | -1) =>
  ({
    changes: changes.flatMap((value) => [value, program.linear([value], [-1])]),
    weights: changes.flatMap(() => [1, sign]),
    election: { weighted: false, tie: 'positive' },
    divisor: 'count',
    least: 0,
  }) as const;

/** Returns a value that is 0 at elements with at most one nonzero change, and positive elsewhere. */
const sharedBy = (program: Program, changes: readonly Value[]): Value => {
  const [first] = changes;
  if (first === undefined) throw new RangeError('ram has a source');
  const zero = program.keep({ value: first, by: first, lower: nothing, upper: nothing, scale: 1 });
  const votes = counted(program, changes, 1);
  const [sum, mean] = (['none', 'count'] as const).map((divisor) =>
    program.vote({ base: zero, ...votes, divisor, scale: 1, dtype: 'F32' }),
  ) as [Value, Value];
  // With several changes, the sum of magnitudes is at least twice their mean.
  return program.linear([sum, mean], [1, -1]);
};
