import type { MagnitudeBound } from '../../../native/job.js';
import type { Value } from './program.js';

export interface BoundToFind {
  readonly value: Value;
  readonly kept: number;
  /** Among equal magnitudes: true if lower indexes count as above the bound, false if higher indexes do. */
  readonly early: boolean;
  /** True if all elements with the bound's magnitude count as above it. */
  readonly threshold?: boolean;
  /** Index of the bound's count in a vote's tally (`src/core/native/tally.ts`). */
  readonly tallied?: number;
}

/** Bounds guessed from a sample, so that a tensor can be computed before exact bounds are known. */
export interface GuessedBounds {
  /** The guesses; undefined before guessing. Bounds set by the caller are used as they are. */
  bounds: readonly MagnitudeBound[] | undefined;
  wanted: readonly (BoundToFind & { readonly index: number })[];
}
