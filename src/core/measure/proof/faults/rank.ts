import type { Sampled } from '../evidence.js';
import { unitAt } from '../precision.js';

const mostRows = 48;

/** Minimum ratio of a change's smallest eigenvalue to the noise's largest. */
const leastGap = 6;

/**
 * Returns the rank of a matrix's first rows, above rounding noise; undefined if full, which proves nothing.
 */
export const rankOfRows = (
  values: Float32Array,
  columns: number,
  { found, grain: [dtype = 'F32'] }: Sampled,
): number | undefined => {
  const rows = Math.min(mostRows, Math.floor(values.length / columns));
  if (rows < 4 || columns < 4) return undefined;
  const gram = Array.from({ length: rows }, (_, a) =>
    Array.from({ length: rows }, (_, b) => {
      let sum = 0;
      for (let at = 0; at < columns; at += 1)
        sum += (values[a * columns + at] ?? 0) * (values[b * columns + at] ?? 0);
      return sum;
    }),
  );
  let noise = 0;
  for (let at = 0; at < rows * columns; at += 1) noise += unitAt(found[at] ?? 0, dtype) ** 2 / 6;
  const eigenvalues = eigenvaluesOf(gram);
  // Largest eigenvalue of noise with this variance (Marchenko–Pastur law).
  const most = (noise / rows) * (1 + Math.sqrt(rows / columns)) ** 2;
  const floor = Math.max(2 * most, 1e-9 * Math.max(...eigenvalues));
  const rank = eigenvalues.filter((value) => value > floor).length;
  const [last = 0, next = 0] = eigenvalues.toSorted((a, b) => b - a).slice(rank - 1);
  // Without a gap between eigenvalues, the rest is not noise of rounding.
  const isGap = last > leastGap * Math.max(next, Number.MIN_VALUE);
  return rank === 0 || rank >= Math.min(rows, columns) - 1 || !isGap ? undefined : rank;
};

const sweeps = 12;

const eigenvaluesOf = (matrix: number[][]): number[] => {
  const size = matrix.length;
  const at = (row: number, column: number): number => matrix[row]?.[column] ?? 0;
  const set = (row: number, column: number, value: number): void => {
    const values = matrix[row];
    if (values !== undefined) values[column] = value;
  };
  for (let sweep = 0; sweep < sweeps; sweep += 1)
    for (let p = 0; p < size; p += 1)
      for (let q = p + 1; q < size; q += 1) {
        const off = at(p, q);
        if (Math.abs(off) <= 1e-15 * Math.sqrt(Math.abs(at(p, p) * at(q, q)))) continue;
        const theta = (at(q, q) - at(p, p)) / (2 * off);
        const t = Math.sign(theta || 1) / (Math.abs(theta) + Math.sqrt(theta * theta + 1));
        const c = 1 / Math.sqrt(t * t + 1);
        const s = t * c;
        for (let k = 0; k < size; k += 1) {
          const [kp, kq] = [at(k, p), at(k, q)];
          set(k, p, c * kp - s * kq);
          set(k, q, s * kp + c * kq);
        }
        for (let k = 0; k < size; k += 1) {
          const [pk, qk] = [at(p, k), at(q, k)];
          set(p, k, c * pk - s * qk);
          set(q, k, s * pk + c * qk);
        }
      }
  return Array.from({ length: size }, (_, index) => at(index, index));
};
