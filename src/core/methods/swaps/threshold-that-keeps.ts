import { itemAt } from '../../base/errors/lookup.js';

/** Each row's MAV (NaN if not finite), and the number of parameters in a row. */
export interface WeighedRows {
  readonly vector: Float32Array;
  readonly parameters: number;
}

const half = 0x10000;

/**
 * Returns the largest threshold that keeps at least a share of the parameters: the smallest MAV of the kept
 * rows. Rows with NaN or infinity are always kept; returns 0 if these suffice, or without rows.
 *
 * Counts parameters by the MAVs' bits, which sort like the MAVs: first by the upper half, then by the lower.
 * An object for each of 20 million rows (400 billion parameters) would need gigabytes.
 */
export const thresholdThatKeeps = (share: number, tensors: readonly WeighedRows[]): number => {
  const wanted = share * tensors.reduce((sum, { vector, parameters }) => sum + parameters * vector.length, 0);
  let kept = 0;
  for (const { vector, parameters } of tensors)
    for (const mav of vector) if (!Number.isFinite(mav)) kept += parameters;
  if (kept > 0 && kept >= wanted) return 0;
  /** Returns the lowest half word to keep, and the number of parameters above it. */
  const lastOf = (
    above: number,
    halfOf: (bits: number) => number | undefined,
  ): [number, number] | undefined => {
    const counted = new Float64Array(half);
    for (const { vector, parameters } of tensors) {
      const words = new Uint32Array(vector.buffer, vector.byteOffset, vector.length);
      for (let row = 0; row < words.length; row += 1) {
        const at = Number.isFinite(vector[row]) ? halfOf(itemAt(words, row)) : undefined;
        if (at !== undefined) counted[at] = itemAt(counted, at) + parameters;
      }
    }
    let sum = above;
    for (let at = half - 1; at >= 0; at -= 1) {
      const here = itemAt(counted, at);
      if (here > 0 && sum + here >= wanted) return [at, sum];
      sum += here;
    }
    return undefined;
  };
  const upper = lastOf(kept, (bits) => bits >>> 16);
  if (upper === undefined) return 0;
  const lower = lastOf(upper[1], (bits) => (bits >>> 16 === upper[0] ? bits % half : undefined));
  return lower === undefined
    ? 0
    : itemAt(new Float32Array(Uint32Array.of(upper[0] * half + lower[0]).buffer), 0);
};
