import type { Sums } from '../../native/addon.js';

/** Zeros for `rows` rows of each expert. */
export const emptySums = (experts: number, rows: number, pairs: boolean): Sums => ({
  magnitudes: new Float64Array(experts * rows),
  pairs: new Float64Array(pairs ? (experts * (experts + 1) * 3) / 2 : 0),
  nonFinite: new Float64Array(experts + 1),
});
