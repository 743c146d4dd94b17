import type { MagnitudeBound } from '../../native/job.js';
import type { Value } from './program.js';

/** A bound to find among a value's magnitudes. */
export interface BoundToFind {
  readonly value: Value;
  /** Number of elements above it. */
  readonly kept: number;
  /** Order of elements of the bound's magnitude: true puts lower indexes above, false higher ones. */
  readonly early: boolean;
  /** True to find only a magnitude: all tied elements count as above the bound. */
  readonly threshold?: boolean;
  /** For a vote's term: index in the vote's tally (`src/core/native/tally.ts`). */
  readonly tallied?: number;
}

/** Bounds guessed from a sample, so that a tensor is computed before the exact bounds are known. */
export interface GuessedBounds {
  /** All bounds of the tensor; undefined until guessed. If set beforehand, they are used as they are. */
  bounds: readonly MagnitudeBound[] | undefined;
  /** The bounds that are guesses, and what to find for each. */
  wanted: readonly (BoundToFind & { readonly index: number })[];
}
