import { itemAt } from '../../../core/base/errors/lookup.js';
import type { MavVectors } from '../../../core/measure/analysis/analysis.js';

/**
 * Returns a slider's thresholds in ascending order: log-spaced over the range of the MAVs, and the thresholds
 * of the analysis. The page then has exact counts of rows for every stop.
 */
export const stopsOf = (
  experts: readonly MavVectors[],
  analysed: readonly number[],
  perDecade: number,
): number[] => {
  let [least, most] = [Number.POSITIVE_INFINITY, 0];
  for (const { vectors } of experts)
    for (const vector of vectors.values())
      for (const mav of vector)
        if (mav > 0) {
          least = Math.min(least, mav);
          most = Math.max(most, mav);
        }
  const ascending = (stops: readonly number[]) => [...new Set(stops)].sort((a, b) => a - b);
  if (!Number.isFinite(least)) return ascending(analysed);
  const [from, to] = [
    Math.floor(Math.max(Math.log10(least), -12) * 4) / 4,
    Math.ceil(Math.log10(most) * 4) / 4,
  ];
  const steps = Math.round((to - from) * perDecade);
  const even = Array.from({ length: steps + 1 }, (_, step) =>
    Number((10 ** (from + step / perDecade)).toPrecision(3)),
  );
  return ascending([...even, ...analysed]);
};

const stopsBelow = (stops: Float64Array, mav: number): number => {
  let [from, to] = [0, stops.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (mav > itemAt(stops, middle)) from = middle + 1;
    else to = middle;
  }
  return from;
};

export const countsAt = (vectors: readonly Float32Array[], stops: readonly number[]): number[] => {
  const ascending = Float64Array.from(stops);
  const rows = new Float64Array(stops.length + 1);
  for (const vector of vectors)
    for (const mav of vector) {
      const below = stopsBelow(ascending, mav);
      rows[below] = itemAt(rows, below) + 1;
    }
  const counts = stops.map(() => 0);
  let above = 0;
  for (let stop = stops.length - 1; stop >= 0; stop -= 1) {
    above += itemAt(rows, stop + 1);
    counts[stop] = above;
  }
  return counts;
};
