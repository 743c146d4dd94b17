import type { Dtype } from '../../tensor/dtype.js';
import { rounded, unitAt } from './precision.js';

/** True if `found` equals `wanted`, exactly or rounded to the dtype. NaN equals NaN. */
export const isCopy = (found: Float32Array, wanted: Float32Array, dtype: Dtype): boolean =>
  found.length === wanted.length &&
  found.every((value, at) => {
    const other = wanted[at] ?? Number.NaN;
    return value === other || rounded(other, dtype) === value || (Number.isNaN(value) && Number.isNaN(other));
  });

/** Dtypes to which numbers were rounded. Each allows a difference of one unit in the last place. */
export type Grain = readonly Dtype[];

/**
 * Returns by how many units in the last place numbers may differ. Float32 sums depend on the order of terms.
 */
const unitsOf = (dtype: Dtype): number => (dtype === 'F32' || dtype === 'F64' ? 4 : 1);

/** Returns the largest difference that rounding once causes in a number of this size. */
export const allowedAt = (size: number, grain: Grain): number =>
  grain.reduce((most, dtype) => Math.max(most, unitsOf(dtype) * unitAt(size, dtype)), 0);

/** Counts elements that differ by more than one rounding of their largest term. */
export const beyondRounding = (
  found: Float32Array,
  wanted: Float32Array,
  grain: Grain,
  terms: readonly Float32Array[] = [],
): number => {
  let count = 0;
  for (let at = 0; at < found.length; at += 1) {
    const [a, b] = [found[at] ?? 0, wanted[at] ?? 0];
    if (a === b || (Number.isNaN(a) && Number.isNaN(b))) continue;
    const apart = Math.abs(a - b);
    let size = Math.max(Math.abs(a), Math.abs(b));
    if (apart <= allowedAt(size, grain)) continue;
    for (const term of terms) size = Math.max(size, Math.abs(term[at] ?? 0));
    if (!(apart <= allowedAt(size, grain))) count += 1;
  }
  return count;
};

/** Share of elements that may differ more, because sums cancel. */
const mostApart = 1 / 256;

/** Largest difference from a hypothesis, in roundings: of a single element, and as root mean square. */
const [mostRoundings, mostSpread] = [2, 0.75];

/** True if the elements equal a hypothesis up to roundings. */
export const fits = (
  found: Float32Array,
  wanted: Float32Array,
  grain: Grain,
  terms: readonly Float32Array[] = [],
  share = mostApart,
): boolean => {
  let [beyond, squares] = [0, 0];
  const largest = wanted.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  const least = grain[0] === 'F32' || grain[0] === 'F64' ? largest : 0;
  for (let at = 0; at < found.length; at += 1) {
    const [a, b] = [found[at] ?? 0, wanted[at] ?? 0];
    if (a === b || (Number.isNaN(a) && Number.isNaN(b))) continue;
    const size = terms.reduce(
      (most, term) => Math.max(most, Math.abs(term[at] ?? 0)),
      Math.max(Math.abs(a), Math.abs(b), least),
    );
    const roundings = Math.abs(a - b) / allowedAt(size, grain);
    if (!(roundings <= mostRoundings)) beyond += 1;
    else squares += roundings * roundings;
  }
  return beyond <= found.length * share && squares <= found.length * mostSpread ** 2;
};

/** Relative difference below which magnitudes at a threshold count as equal. */
const sameCut = 0.02;

/**
 * True if every row has a magnitude at the threshold of its column, which is the column's most frequent
 * value. Programs keep only some of the changes at the threshold.
 */
export const isAtCut = (rows: readonly (readonly number[])[]): boolean => {
  // Takes each column twice, because small changes and outliers have separate thresholds.
  const columns = [...(rows[0] ?? []).keys(), ...(rows[0] ?? []).keys()];
  let left = rows;
  while (left.length > 0 && columns.length > 0) {
    const found = columns.map((column) => ({
      column,
      ...commonest(left.map((row) => row[column] ?? 0)),
    }));
    const [best] = found.toSorted((a, b) => b.count - a.count);
    if (best === undefined || best.count === 0) return false;
    columns.splice(columns.indexOf(best.column), 1);
    left = left.filter((row) => Math.abs((row[best.column] ?? 0) - best.cut) > sameCut * best.cut);
  }
  return left.length === 0;
};

const commonest = (values: readonly number[]): { readonly cut: number; readonly count: number } => {
  const sorted = values.filter((value) => value > 0).sort((a, b) => a - b);
  let [cut, count, from] = [0, 0, 0];
  for (const [to, value] of sorted.entries()) {
    while ((sorted[from] ?? 0) < value * (1 - 2 * sameCut)) from += 1;
    if (to - from + 1 > count) [cut, count] = [sorted[Math.floor((from + to) / 2)] ?? 0, to - from + 1];
  }
  return { cut, count };
};

export const dot = (a: Float32Array, b: Float32Array): number => {
  let sum = 0;
  for (let at = 0; at < a.length; at += 1) {
    const product = (a[at] ?? 0) * (b[at] ?? 0);
    if (Number.isFinite(product)) sum += product;
  }
  return sum;
};

export const minus = (a: Float32Array, b: Float32Array): Float32Array =>
  a.map((value, at) => value - (b[at] ?? 0));

export const combined = (vectors: readonly Float32Array[], weights: readonly number[]): Float32Array => {
  const sum = new Float32Array(vectors[0]?.length ?? 0);
  for (let at = 0; at < sum.length; at += 1)
    sum[at] = vectors.reduce((total, vector, index) => total + (weights[index] ?? 0) * (vector[at] ?? 0), 0);
  return sum;
};

export const relativeDistance = (a: Float32Array, b: Float32Array): number => {
  const apart = minus(a, b);
  return Math.sqrt(dot(apart, apart) / Math.max(dot(b, b), Number.MIN_VALUE));
};

/** Solves `wanted` ≈ Σ weight·vector by least squares, with pivots; undefined if vectors depend linearly. */
export const solveWeights = (
  vectors: readonly Float32Array[],
  wanted: Float32Array,
): readonly number[] | undefined => {
  const size = vectors.length;
  const rows = vectors.map((vector) => [...vectors.map((other) => dot(vector, other)), dot(vector, wanted)]);
  const scale = Math.max(...rows.map((row, index) => Math.abs(row[index] ?? 0)));
  for (let column = 0; column < size; column += 1) {
    const [pivot = column] = [...rows.keys()]
      .slice(column)
      .sort((a, b) => Math.abs(rows[b]?.[column] ?? 0) - Math.abs(rows[a]?.[column] ?? 0));
    const [top, other] = [rows[pivot] ?? [], rows[column] ?? []];
    [rows[column], rows[pivot]] = [top, other];
    const head = top[column] ?? 0;
    if (!(Math.abs(head) > scale * 1e-12)) return undefined;
    for (const [index, row] of rows.entries()) {
      if (index === column) continue;
      const factor = (row[column] ?? 0) / head;
      for (let at = column; at <= size; at += 1) row[at] = (row[at] ?? 0) - factor * (top[at] ?? 0);
    }
  }
  return rows.map((row, index) => (row[size] ?? 0) / (row[index] ?? 1));
};
