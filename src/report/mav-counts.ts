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

/** Share of the rows that a threshold chosen by `openingThreshold` leaves above it. */
export const openingShare = 1 / 3;

/**
 * Returns the threshold that a third of the rows of the layers' matrices exceed: a picture at it shows where
 * an expert changed most, however far it moved. Undefined where no row changed.
 */
export const openingThreshold = (experts: readonly MavVectors[]): number | undefined => {
  const vectors = experts.flatMap(({ tensors, vectors: all }) =>
    Object.entries(tensors).flatMap(([name, { layer, rows, parametersPerRow }]) =>
      layer !== null && rows > 1 && parametersPerRow > 1 ? (all.get(name) ?? []) : [],
    ),
  );
  const length = vectors.reduce((total, vector) => total + vector.length, 0);
  const together = new Float32Array(length);
  let at = 0;
  for (const vector of vectors) {
    together.set(vector, at);
    at += vector.length;
  }
  const finite = together.filter((mav) => mav > 0).sort();
  return finite.length === 0 ? undefined : itemAt(finite, Math.floor(finite.length * (1 - openingShare)));
};
