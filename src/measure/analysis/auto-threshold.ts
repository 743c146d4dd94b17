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
  return together.filter((mav) => mav >= 0).sort();
};

/**
 * Returns the threshold that a third of the changed rows of the matrices inside layers exceed, of all experts
 * together: a picture at it shows where an expert changed most, however far it moved. Undefined where no row changed.
 */
export const autoThreshold = (experts: readonly MavVectors[]): number | undefined => {
  const changed = sortedRows(experts).filter((mav) => mav > 0);
  return changed.length === 0 ? undefined : itemAt(changed, Math.floor(changed.length * (1 - aboveShare)));
};
