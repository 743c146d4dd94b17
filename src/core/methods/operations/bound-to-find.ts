import type { MagnitudeBound } from '../../native/job.js';
import type { Value } from './program.js';

/** A bound to find among the magnitudes of a value. */
export interface BoundToFind {
  readonly value: Value;
  /** The number of elements above it. */
  readonly kept: number;
  /**
   * Tie-break among elements of the bound's magnitude: true puts those with lower indexes above, false those
   * with higher ones.
   */
  readonly early: boolean;
  /**
   * True to search the magnitude only: the bound is not a cutoff between tied elements, all of which are
   * above it.
   */
  readonly threshold?: boolean;
  /** Of a vote's term: its place among the tallies of the vote (`src/core/native/tally.ts`). */
  readonly tallied?: number;
}

/** Bounds that are guessed of a sample, for a tensor to be computed with them before they are known. */
export interface GuessedBounds {
  /** All bounds of the tensor, undefined until they are guessed. They may be set, and are taken then. */
  bounds: readonly MagnitudeBound[] | undefined;
  /** Those of them that are guesses, and what is wanted of each. */
  wanted: readonly (BoundToFind & { readonly index: number })[];
}
