import * as z from 'zod';
import type { MagnitudeBound } from '../../../native/job.js';
import { bitsOfFloat } from '../../../tensor/float-bits.js';
import type { BoundToFind } from '../program/bound-to-find.js';
import { nothing } from '../program/magnitude-bounds.js';
import type { Program, Value } from '../program/program.js';
import { decimals } from '../program/words.js';
import { randomKey } from '../rows/random-key.js';

/** Keeps the ⌊density·n⌋ largest magnitudes, at least `least`; lower indexes win ties. */
export interface ByMagnitude {
  readonly by: 'magnitude';
  readonly density: number;
  readonly least: number;
}

/** Drops the ⌊gamma·n⌋ largest magnitudes and keeps the next ⌊density·n⌋; higher indexes win ties. */
export interface ByOutliers {
  readonly by: 'outliers';
  readonly density: number;
  readonly gamma: number;
}

/** Keeps each element independently with probability `density`. */
export interface ByRandom {
  readonly by: 'random';
  readonly density: number;
  readonly seed: string;
}

/** Keeps elements with a probability that rises by rank, from density − epsilon to density + epsilon. */
export interface ByRank {
  readonly by: 'rank';
  readonly density: number;
  readonly epsilon: number;
  readonly seed: string;
}

/** Keeps elements that reach a magnitude found over the whole model. */
export interface ByThreshold {
  readonly by: 'threshold';
  readonly atLeast: number;
}

/** A rule that keeps some elements of a task vector and sets others to 0. */
export type Sparsifier = ByMagnitude | ByOutliers | ByRandom | ByRank | ByThreshold;

interface SparsifierKind<S> {
  readonly schema: z.ZodType<S>;
  readonly needsRows?: true;
  draws?(sparsifier: S): boolean;
  cuts?(sparsifier: S, elements: number): readonly Omit<BoundToFind, 'value' | 'tallied'>[];
  /** Appends the sparsified value times `scale`; `bounds` are those found for `cuts`, in order. */
  append(
    program: Program,
    value: Value,
    sparsifier: S,
    bounds: readonly MagnitudeBound[],
    scale: number,
  ): Value;
  describe(sparsifier: S): string;
}

const share = z.number().nonnegative().max(1);

const describeDensity = ({ by, density }: { by: string; density: number }): string =>
  `${decimals(100 * density)} % by ${by}`;

const keepAbove = (program: Program, value: Value, lower: MagnitudeBound, scale: number): Value =>
  program.keep({ value, by: value, lower, upper: nothing, scale });

export const keepReaching = (program: Program, value: Value, atLeast: number, scale: number): Value =>
  keepAbove(program, value, { bits: bitsOfFloat(atLeast), cutoff: program.elements, early: true }, scale);

const magnitude: SparsifierKind<ByMagnitude> = {
  schema: z.strictObject({ by: z.literal('magnitude'), density: share, least: z.int().nonnegative() }),
  cuts: ({ density, least }, elements) => [
    { kept: Math.max(least, Math.floor(density * elements)), early: true },
  ],
  append: (program, value, _, [bound = nothing], scale) => keepAbove(program, value, bound, scale),
  describe: describeDensity,
};

const outliers: SparsifierKind<ByOutliers> = {
  schema: z.strictObject({ by: z.literal('outliers'), density: share, gamma: z.number().min(0).max(1) }),
  cuts: ({ density, gamma }, elements) => {
    const target = Math.floor(density * elements);
    const top = Math.floor(gamma * elements);
    const dropped = Math.max(0, elements - target - top);
    return [
      { kept: elements - dropped, early: false },
      { kept: elements - dropped - target, early: false },
    ];
  },
  append: (program, value, _, [lower = nothing, upper = nothing], scale) =>
    program.keep({ value, by: value, lower, upper, scale }),
  describe: describeDensity,
};

const random: SparsifierKind<ByRandom> = {
  schema: z.strictObject({ by: z.literal('random'), density: share, seed: z.string() }),
  draws: ({ density }) => density < 1,
  append: (program, value, { density, seed }, _, scale) =>
    program.drop({ value, key: randomKey(seed), probability: density, scale }),
  describe: describeDensity,
};

const rank: SparsifierKind<ByRank> = {
  schema: z
    .strictObject({
      by: z.literal('rank'),
      density: share,
      epsilon: z.number().nonnegative(),
      seed: z.string(),
    })
    .refine(({ density, epsilon }) => density - epsilon >= 0 && density + epsilon <= 1, {
      error: 'density − epsilon and density + epsilon must lie between 0 and 1',
    }),
  needsRows: true,
  draws: ({ density }) => density < 1,
  append: (program, value, { density, epsilon, seed }, _, scale) =>
    program.dropRanked({
      value,
      key: randomKey(seed),
      lowest: density - epsilon,
      highest: density + epsilon,
      scale,
    }),
  describe: describeDensity,
};

const threshold: SparsifierKind<ByThreshold> = {
  schema: z.strictObject({ by: z.literal('threshold'), atLeast: z.number().nonnegative() }),
  append: (program, value, { atLeast }, _, scale) => keepReaching(program, value, atLeast, scale),
  describe: ({ atLeast }) => `from ${atLeast.toPrecision(4)} on`,
};

type SparsifiersByKind = {
  readonly [By in Sparsifier['by']]: SparsifierKind<Extract<Sparsifier, { by: By }>>;
};

const sparsifiers: SparsifiersByKind = { magnitude, outliers, random, rank, threshold };

/** Returns a sparsifier's kind. Types cannot express that a kind takes only its own sparsifiers. */
export const kindOf = (sparsifier: Sparsifier): SparsifierKind<Sparsifier> =>
  sparsifiers[sparsifier.by] as SparsifierKind<Sparsifier>;

export const sparsifierSchema = z.discriminatedUnion(
  'by',
  Object.values(sparsifiers).map(({ schema }) => schema) as never,
) as unknown as z.ZodType<Sparsifier>;
