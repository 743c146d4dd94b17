import * as z from 'zod';
import type { Operation } from '../program/operation.js';
import type { Value } from '../program/program.js';
import { decimals, describeSum } from '../program/words.js';
import { randomKey } from './random-key.js';

export type Distribution = 'normal' | 'uniform';

/** `scale`·random number + `weight`·source, if given, rounded once. Numbers depend on seed and index. */
export interface Random<T> {
  readonly kind: 'random';
  readonly distribution: Distribution;
  readonly scale: number;
  readonly seed: string;
  readonly onto: { readonly source: T; readonly weight: number } | null;
}

export const random = {
  schema: z.strictObject({
    kind: z.literal('random'),
    distribution: z.enum(['normal', 'uniform']),
    scale: z.number(),
    seed: z.string(),
    onto: z.strictObject({ source: z.unknown(), weight: z.number() }).nullable(),
  }),
  map: <T, U>(formula: Random<T>, to: (operand: T) => U): Random<U> => ({
    ...formula,
    onto: formula.onto === null ? null : { ...formula.onto, source: to(formula.onto.source) },
  }),
  draws: ({ scale }) => scale !== 0,
  describe: ({ onto, scale }) => {
    if (onto !== null) return `${describeSum([[onto.weight, onto.source]])} + ${decimals(scale)} noise`;
    return scale === 0 ? 'zeros' : 'random numbers';
  },
  figures: ({ onto }) => (onto === null ? [] : [{ name: 'weight', of: onto.source, value: onto.weight }]),
  lower: ({ onto, scale, seed, distribution }, dtype, { program }) => {
    const own = { key: randomKey(seed), distribution };
    if (onto === null) return program.random({ ...own, scale, dtype });
    const numbers = program.random({ ...own, scale: 1, dtype: 'F32' });
    return program.linear([onto.source, numbers], [onto.weight, scale], dtype);
  },
} satisfies Operation<Random<unknown>, Random<string>, Random<Value>>;
