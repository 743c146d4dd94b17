import type { NativeProgram } from './job.js';

// Pursuits as the addon takes them; native/addon/decode_pursue.cpp reads them.

/** Rows that are to be approximated by sums of few rows of another matrix (`native/jobs/pursue.hpp`). */
export interface Pursuit {
  /** Of one source: all rows that sums may be of. */
  readonly atoms: NativeProgram;
  /** Of one source with rows of as many elements: some of those to approximate. */
  readonly targets: NativeProgram;
  /** Rows of a sum, at most; no more than there are atoms, and no more than `mostChosen`. */
  readonly k: number;
}

/** Limit on the rows of a sum. */
export const mostChosen = 4096;

/**
 * The numbers that a pursuit finds of a target, in the order of native/jobs/pursue.hpp: how many atoms it has chosen,
 * ‖target‖² and ‖target − sum‖². Behind them stand `k` indices of atoms, in the order of choice, and `k` coefficients.
 */
export const pursuitNumbers = ['chosen', 'squares', 'error'] as const;

/** Returns the count of numbers that a pursuit finds. */
export const sizeOfPursuit = ({ targets, k }: Pursuit): number =>
  (targets.count / targets.columns) * (pursuitNumbers.length + 2 * k);
