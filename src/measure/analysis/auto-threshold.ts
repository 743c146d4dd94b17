import { itemAt } from '../../base/lookup.js';
import type { MavVectors } from './analysis.js';

/** Share of the rows that a threshold chosen by `autoThreshold` leaves above it. */
const aboveShare = 1 / 3;

/**
 * Returns the threshold that a third of the changed rows of the matrices inside layers exceed, of all experts
 * together: a picture at it shows where an expert changed most, however far it moved. Undefined where no row changed.
 */
export const autoThreshold = (experts: readonly MavVectors[]): number | undefined => {
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
  return finite.length === 0 ? undefined : itemAt(finite, Math.floor(finite.length * (1 - aboveShare)));
};
