import * as z from 'zod';
import { madeWhole, type Operation } from '../program/operation.js';
import type { Value } from '../program/program.js';
import { decimals } from '../program/words.js';

/** RegMean (Jin et al. 2023) with Gram matrices of inputs (native/jobs/regress.hpp). Weights sum to 1. */
export interface RegMean<T> {
  readonly kind: 'regMean';
  readonly terms: readonly { readonly source: T; readonly gram: T; readonly weight: number }[];
  readonly scaling: number;
  readonly ridge: number;
}

/** A wider system would need gigabytes per thread. */
const mostInputs = 65_536;

export const regMean = {
  schema: z.strictObject({
    kind: z.literal('regMean'),
    terms: z
      .array(z.strictObject({ source: z.unknown(), gram: z.unknown(), weight: z.number().positive().max(1) }))
      .min(1),
    scaling: z.number().min(0).max(1),
    ridge: z.number().nonnegative(),
  }),
  ...madeWhole,
  map: <T, U>(formula: RegMean<T>, to: (operand: T) => U): RegMean<U> => ({
    ...formula,
    terms: formula.terms.map((term) => ({ ...term, source: to(term.source), gram: to(term.gram) })),
  }),
  operandShapes: ({ terms }, shape) => {
    const inputs = shape.at(-1) ?? 1;
    return terms.flatMap(() => [shape, [inputs, inputs]]);
  },
  // A thread's memory: in float64 half of the system and, for 512 rows, the right-hand side; in float32, for 512 rows,
  // each W twice and the result.
  threadBytes: ({ terms }, [outputs = 1, inputs = 1]) =>
    4 * inputs ** 2 + Math.min(512, outputs) * inputs * (8 + 8 * terms.length + 2),
  lighter: () =>
    'files of Gram matrices without that of this tensor, which is averaged then, or a method that works tile by tile (linear, fisher)',
  statistics: <T>({ terms }: RegMean<T>) => [
    { what: 'finite Gram matrices', operands: terms.map(({ gram }) => gram) },
  ],
  refusal: (_, { shape: [outputs, inputs, more] }) => {
    if (outputs === undefined || inputs === undefined || more !== undefined || outputs * inputs === 0)
      return 'it is no matrix of a linear layer';
    return inputs > mostInputs ? `it has more than ${mostInputs} inputs` : undefined;
  },
  describe: ({ terms }) =>
    `RegMean of ${terms.map(({ source, gram, weight }) => `${source} by ${decimals(weight)} ${gram}`).join(', ')}`,
  figures: ({ terms }) => terms.map(({ source, weight }) => ({ name: 'weight', of: source, value: weight })),
} satisfies Operation<RegMean<unknown>, RegMean<string>, RegMean<Value>>;
