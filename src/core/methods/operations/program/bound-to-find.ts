import type { MagnitudeBound } from '../../../native/job.js';
import type { Value } from './program.js';

export interface BoundToFind {
  readonly value: Value;
  /** Number of elements above it. */
  readonly kept: number;
  /** Order of equal magnitudes: true puts lower indexes above. */
  readonly early: boolean;
  /** True if all elements of the bound's magnitude count as above it. */
  readonly threshold?: boolean;
  /** Index in the tally of a vote (`src/core/native/tally.ts`). */
  readonly tallied?: number;
}

/** Bounds guessed from a sample, to compute a tensor before exact bounds are known. */
export interface GuessedBounds {
  /** Undefined until they are guessed. Bounds that are set beforehand are used unchanged. */
  bounds: readonly MagnitudeBound[] | undefined;
  /** The bounds that are guesses, and what to find for each. */
  wanted: readonly (BoundToFind & { readonly index: number })[];
}
