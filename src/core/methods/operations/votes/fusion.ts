import * as z from 'zod';
import { bitsOfFloat, floatOfBits } from '../../../tensor/float-bits.js';
import { difference, takeRows } from '../program/lowering.js';
import { boundsOf, nothing } from '../program/magnitude-bounds.js';
import type { Operation } from '../program/operation.js';
import type { Value } from '../program/program.js';

export interface Fusion<T> {
  readonly kind: 'fusion';
  readonly base: T;
  readonly source: T;
}

export const fusion = {
  schema: z.strictObject({ kind: z.literal('fusion'), base: z.unknown(), source: z.unknown() }),
  map: <T, U>(formula: Fusion<T>, to: (operand: T) => U): Fusion<U> => ({
    ...formula,
    base: to(formula.base),
    source: to(formula.source),
  }),
  statistics: <T>({ base, source }: Fusion<T>) => [
    { what: 'divergences', operands: [base, source] },
    { what: 'quantiles', operands: [base, source] },
  ],
  describe: ({ base, source }) => `${source} where it differs much (change × divergence), else ${base}`,
  lower: async ({ base, source: value }, dtype, to) => {
    const { program, measurer } = to;
    takeRows(to, 'last', 'arcee_fusion');
    const change = difference(to, value, base);
    const divergences = await measurer.divergence(program, value, base);
    const importance = program.importance({ value, base, divergences });
    const last = program.elements - 1;
    const [q1, median, q3] = (
      await boundsOf(
        to,
        [0.25, 0.5, 0.75].map((q) => ({
          value: importance,
          kept: program.elements - Math.floor(q * last),
          early: true,
          threshold: true,
        })),
      )
    ).map(({ bits }) => floatOfBits(bits)) as [number, number, number];
    const threshold = Math.fround(median + Math.fround(1.5 * Math.fround(q3 - q1)));
    const lower = { bits: bitsOfFloat(threshold), cutoff: program.elements, early: true };
    const fused = program.keep({ value: change, by: importance, lower, upper: nothing, scale: 1 });
    return program.linear([base, fused], [1, 1], dtype);
  },
} satisfies Operation<Fusion<unknown>, Fusion<string>, Fusion<Value>>;
