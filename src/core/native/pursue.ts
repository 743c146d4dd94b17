import type { NativeProgram } from './job.js';

// Pursuits as the addon takes them, decoded by native/addon/decode_pursue.cpp.

/** Approximates rows by sums of few rows of another matrix (`native/jobs/pursue.hpp`). */
export interface Pursuit {
  /** A program with a single source: all rows that sums may use. */
  readonly atoms: NativeProgram;
  /** A program with a single source of equally long rows: some of the rows to approximate. */
  readonly targets: NativeProgram;
  /** Most rows in a sum; at most the number of atoms and `mostChosen`. */
  readonly k: number;
}

/** Limit on the rows in a sum. */
export const mostChosen = 4096;

/**
 * The numbers that a pursuit returns for a target, in the order of native/jobs/pursue.hpp: the number of
 * chosen atoms, ‖target‖² and ‖target − sum‖². Then follow `k` atom indices in the order of choice, and `k`
 * coefficients.
 */
export const pursuitNumbers = ['chosen', 'squares', 'error'] as const;

/** Returns how many numbers a pursuit returns. */
export const sizeOfPursuit = ({ targets, k }: Pursuit): number =>
  (targets.count / targets.columns) * (pursuitNumbers.length + 2 * k);
