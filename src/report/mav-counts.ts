import type { MavVectors } from '../analysis/analysis.js';
import { itemAt } from '../lookup.js';

/**
 * Returns a slider's thresholds in ascending order: evenly spaced on a log scale over the range of the MAVs,
 * plus the analysed one. Rows are counted at each of them when a page is written, so that every number on it
 * is exact.
 *
 * @param perDecade positions per power of ten
 */
export const stopsOf = (experts: readonly MavVectors[], threshold: number, perDecade: number): number[] => {
  let [least, most] = [Number.POSITIVE_INFINITY, 0];
  for (const { vectors } of experts)
    for (const vector of vectors.values())
      for (const mav of vector) if (mav > 0) [least, most] = [Math.min(least, mav), Math.max(most, mav)];
  if (!Number.isFinite(least)) return [threshold];
  const [from, to] = [
    Math.floor(Math.max(Math.log10(least), -12) * 4) / 4,
    Math.ceil(Math.log10(most) * 4) / 4,
  ];
  const steps = Math.round((to - from) * perDecade);
  const even = Array.from({ length: steps + 1 }, (_, step) =>
    Number((10 ** (from + step / perDecade)).toPrecision(3)),
  );
  return [...new Set([...even, threshold])].sort((a, b) => a - b);
};

/** Counts a cell's rows above each stop; stops ascend. */
export const countsAt = (vectors: readonly Float32Array[], stops: readonly number[]): number[] => {
  const counts = stops.map(() => 0);
  for (const vector of vectors) {
    const sorted = vector.filter((mav) => !Number.isNaN(mav)).sort();
    let below = 0;
    for (const [index, stop] of stops.entries()) {
      while (below < sorted.length && itemAt(sorted, below) <= stop) below += 1;
      counts[index] = itemAt(counts, index) + sorted.length - below;
    }
  }
  return counts;
};
