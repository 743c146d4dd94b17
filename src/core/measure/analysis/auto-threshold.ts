import { itemAt } from '../../base/lookup.js';
import type { MavVectors } from './analysis.js';
import { isLayerMatrix } from './columns.js';

/** Share of the rows that a threshold chosen by `autoThreshold` leaves above it. */
const aboveShare = 1 / 3;

/** Returns the MAVs of the finite rows of all matrices inside layers, of all experts together, in ascending order. */
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
  // In place: `filter` would make an object of each number, of which models of 400 billion parameters have 38 million. NaN is last.
  together.sort();
  return together.subarray(
    0,
    firstAt(together, (mav) => !(mav >= 0)),
  );
};

/** Returns the place of the first number with a property that all behind it have too; the length where none has. */
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
 * Returns the threshold that a third of the changed rows of the matrices inside layers exceed, of all experts
 * together: a picture at it shows where an expert changed most, however far it moved. Undefined where no row changed.
 */
export const autoThreshold = (experts: readonly MavVectors[]): number | undefined => {
  const sorted = sortedRows(experts);
  const changed = sorted.subarray(firstAt(sorted, (mav) => mav > 0));
  return changed.length === 0 ? undefined : itemAt(changed, Math.floor(changed.length * (1 - aboveShare)));
};
