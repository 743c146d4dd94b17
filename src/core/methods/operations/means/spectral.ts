import * as z from 'zod';
import { madeWhole, type Operation } from '../program/operation.js';
import type { Value } from '../program/program.js';
import { decimals } from '../program/words.js';

const rules = { iso_c: 'Iso-C', tsv_m: 'TSV-Merge' } as const;

export type SpectralRule = keyof typeof rules;

/** Merges matrices by singular values of their changes (native/jobs/spectral.hpp), times `scale`. */
export interface Spectral<T> {
  readonly kind: 'spectral';
  readonly rule: SpectralRule;
  readonly base: T;
  readonly sources: readonly T[];
  readonly scale: number;
}

/** Larger matrices would need gigabytes per thread. */
const mostExtent = 65_536;

export const spectral = {
  schema: z.strictObject({
    kind: z.literal('spectral'),
    rule: z.enum(Object.keys(rules) as [SpectralRule]),
    base: z.unknown(),
    sources: z.array(z.unknown()).min(1),
    scale: z.number(),
  }),
  ...madeWhole,
  map: <T, U>(formula: Spectral<T>, to: (operand: T) => U): Spectral<U> => ({
    ...formula,
    base: to(formula.base),
    sources: formula.sources.map(to),
  }),
  // A thread's memory for `iso_c`: the change in float64 and half of the system. For `tsv_m`: two changes, and the
  // smaller side of all kept vectors. For both, in 512 rows: the float64 solution, each source twice in float32, and
  // the result.
  threadBytes: ({ rule, sources }, [rows = 1, columns = 1]) => {
    const extent = Math.min(rows, columns);
    const matrices = { iso_c: [8, 4], tsv_m: [16, 12] } as const;
    const [ofAll, ofSmaller] = matrices[rule];
    return (
      ofAll * rows * columns +
      ofSmaller * extent ** 2 +
      512 * (16 * extent + 4 * (sources.length + 1) * columns)
    );
  },
  lighter: ({ rule }) =>
    rule === 'tsv_m'
      ? 'iso_c, which takes half of it, or a method that works tile by tile (task_arithmetic, ties, dare_ties, sce)'
      : 'a method that works tile by tile (task_arithmetic, ties, dare_ties, sce)',
  refusal: (_, { shape: [rows, columns, more] }) => {
    if (rows === undefined || columns === undefined || more !== undefined || rows * columns === 0)
      return 'it is no matrix';
    return Math.min(rows, columns) > mostExtent
      ? `it has more than ${mostExtent} rows and columns`
      : undefined;
  },
  describe: ({ rule, base, sources, scale }) =>
    `${base} + ${decimals(scale)} · ${rules[rule]} of ${sources.join(', ')}`,
  figures: ({ scale }) => [{ name: 'scale', of: null, value: scale }],
} satisfies Operation<Spectral<unknown>, Spectral<string>, Spectral<Value>>;
