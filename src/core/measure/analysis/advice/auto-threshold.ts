import { itemAt } from '../../../base/errors/lookup.js';
import type { MavVectors } from '../analysis.js';
import { isLayerMatrix } from '../columns.js';

const aboveShare = 1 / 3;

/** Returns the MAVs of all matrices in layers, ascending, without NaN and infinity. */
export const sortedRows = (experts: readonly MavVectors[]): Float32Array => {
  const vectors = experts.flatMap(({ tensors, vectors: all }) =>
    Object.entries(tensors).flatMap(([name, tensor]) => (isLayerMatrix(tensor) ? (all.get(name) ?? []) : [])),
  );
  const length = vectors.reduce((total, vector) => total + vector.length, 0);
  const together = new Float32Array(length);
  let at = 0;
  for (const vector of vectors) {
    together.set(vector, at);
    at += vector.length;
  }
  // Sorts in place and puts NaN last. `filter` would box each number, and models of 400 billion parameters
  // have 38 million rows.
  together.sort();
  return together.subarray(
    0,
    firstAt(together, (mav) => !(mav >= 0)),
  );
};

const firstAt = (sorted: Float32Array, has: (mav: number) => boolean): number => {
  let [from, to] = [0, sorted.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (has(itemAt(sorted, middle))) to = middle;
    else from = middle + 1;
  }
  return from;
};

/**
 * Returns the MAV that a third of all experts' changed rows in layers exceed; undefined if no row changed. It shows
 * where an expert changed most, whatever the size of its change.
 */
export const autoThreshold = (experts: readonly MavVectors[]): number | undefined => {
  const sorted = sortedRows(experts);
  const changed = sorted.subarray(firstAt(sorted, (mav) => mav > 0));
  return changed.length === 0 ? undefined : itemAt(changed, Math.floor(changed.length * (1 - aboveShare)));
};
