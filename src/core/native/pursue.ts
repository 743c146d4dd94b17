import type { NativeProgram } from './job.js';

// Pursuits, decoded by native/addon/decode_pursue.cpp.

/** Approximates rows by sums of few rows of another matrix (`native/jobs/pursue.hpp`). */
export interface Pursuit {
  /** A single source: all rows that sums may use. */
  readonly atoms: NativeProgram;
  /** A single source of equally long rows: some of the rows to approximate. */
  readonly targets: NativeProgram;
  /** Most rows in a sum; at most the number of atoms and `mostChosen`. */
  readonly k: number;
}

export const mostChosen = 4096;

/**
 * Results for a target, as in native/jobs/pursue.hpp; then `k` atom indices in the order of choice, and `k`
 * coefficients.
 */
export const pursuitNumbers = ['chosen', 'squares', 'error'] as const;

export const sizeOfPursuit = ({ targets, k }: Pursuit): number =>
  (targets.count / targets.columns) * (pursuitNumbers.length + 2 * k);
