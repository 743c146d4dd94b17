import * as z from 'zod';
import type { Operation } from './operation.js';
import type { Value } from './program.js';
import { decimals } from './words.js';

/**
 * Matrices and their base, merged by singular values. `iso_c`: the base plus `scale` · σ̄ · UVᵀ, where UΣVᵀ is the singular
 * value decomposition of the sum of the changes, Σ(source − base), and σ̄ the mean of its singular values (Marczak et al.
 * 2025). A direction in which nothing changes stays as it is.
 */
export interface Spectral<T> {
  readonly kind: 'spectral';
  readonly rule: 'iso_c';
  readonly base: T;
  readonly sources: readonly T[];
  readonly scale: number;
}

/** The system of larger matrices is not solved: it would take gigabytes for each thread. */
const mostExtent = 65_536;

export const spectral = {
  schema: z.strictObject({
    kind: z.literal('spectral'),
    rule: z.enum(['iso_c']),
    base: z.unknown(),
    sources: z.array(z.unknown()).min(1),
    scale: z.number(),
  }),
  isWhole: true,
  map: <T, U>(formula: Spectral<T>, to: (operand: T) => U): Spectral<U> => ({
    ...formula,
    base: to(formula.base),
    sources: formula.sources.map(to),
  }),
  // The change in float64 and half of the system; of 512 rows of the larger extent what is solved, of those read each source
  // in float32 twice, and the result.
  threadBytes: ({ sources }, [rows = 1, columns = 1]) => {
    const extent = Math.min(rows, columns);
    return 8 * rows * columns + 4 * extent ** 2 + 512 * (16 * extent + 4 * (sources.length + 1) * columns);
  },
  refusal: (_, { shape: [rows, columns, more] }) => {
    if (rows === undefined || columns === undefined || more !== undefined || rows * columns === 0)
      return 'it is no matrix';
    return Math.min(rows, columns) > mostExtent
      ? `it has more than ${mostExtent} rows and columns`
      : undefined;
  },
  describe: ({ base, sources, scale }) => `${base} + ${decimals(scale)} · Iso-C of ${sources.join(', ')}`,
  figures: ({ scale }) => [{ name: 'scale', of: null, value: scale }],
  lower: (): Value => {
    throw new Error('a merge by singular values is made by a job of its own, and not by a program');
  },
} satisfies Operation<Spectral<unknown>, Spectral<string>, Spectral<Value>>;
