import * as z from 'zod';
import { difference } from '../program/lowering.js';
import { boundOfShare, nothing } from '../program/magnitude-bounds.js';
import type { Operation } from '../program/operation.js';
import type { Value } from '../program/program.js';
import { gramOf } from '../program/rules.js';
import { decimals } from '../program/words.js';
import { mostTaskVectors, tooManyTaskVectors } from './consensus.js';

/** SCE (vectors/sce.ts) over task vectors. `share` is a fraction of the elements with nonzero variance. */
export interface Sce<T> {
  readonly kind: 'sce';
  readonly base: T;
  readonly sources: readonly T[];
  readonly share: number;
}

export const sce = {
  schema: z.strictObject({
    kind: z.literal('sce'),
    base: z.unknown(),
    sources: z.array(z.unknown()).min(1),
    share: z.number().positive().max(1),
  }),
  map: <T, U>(formula: Sce<T>, to: (operand: T) => U): Sce<U> => ({
    ...formula,
    base: to(formula.base),
    sources: formula.sources.map(to),
  }),
  statistics: <T>({ base, sources, share }: Sce<T>) =>
    [...(share < 1 ? ['variances', 'thresholds'] : []), 'Gram matrices'].map((what) => ({
      what,
      operands: [base, ...sources],
    })),
  refusal: ({ sources }) => (sources.length > mostTaskVectors ? tooManyTaskVectors : undefined),
  describe: ({ base, sources, share }) =>
    `${base} + changes of ${sources.join(', ')}, the ${decimals(share)} that vary most`,
  figures: ({ share }) => [{ name: 'select_topk', of: null, value: share }],
  lower: async ({ base, sources, share }, dtype, to) => {
    const { program, measurer } = to;
    let changes: readonly Value[] = sources.map((value) => difference(to, value, base));
    if (share < 1) {
      const variance = program.variance(changes);
      const lower = await boundOfShare(to, variance, share);
      changes = changes.map((value) =>
        program.keep({ value, by: variance, lower, upper: nothing, scale: 1 }),
      );
    }
    const count = changes.length;
    const sums = gramOf(await measurer.gram(program, changes), 0, count);
    const energies = changes.map((_, index) => sums.of(index, index) / program.elements);
    const total = energies.reduce((sum, energy) => sum + energy, 0);
    // If experts hardly differ from the base, weights are equal, as in mergekit.
    const weights = energies.map((energy) => (Math.abs(total) < 1e-6 ? 1 / count : energy / total));
    return program.vote({
      base,
      changes,
      weights,
      election: { weighted: false, tie: 'positive' },
      divisor: 'weights',
      least: 1e-6,
      scale: 1,
      dtype,
    });
  },
} satisfies Operation<Sce<unknown>, Sce<string>, Sce<Value>>;
