import type { ReducedTensor } from '../engine/compute/reduce.js';
import type { ReductionPlan } from '../plan/reduction.js';
import type { MavVectors } from './analysis.js';

/** How the changes of two experts lie to each other, in a layer or elsewhere. */
export interface OverlapPart {
  /** Layer number, or null for all that is outside the layers. */
  readonly layer: number | null;
  /** Cosine of the angle between the task vectors; null where one of them is 0. */
  readonly cosine: number | null;
  /** Of the elements that both changed, the share that both changed with one sign; null where there are none. */
  readonly signAgreement: number | null;
  /** The share of rows whose MAV is above the threshold in both. */
  readonly rowsAboveInBoth: number;
}

export interface Overlap {
  readonly experts: readonly [string, string];
  /** Outside the layers first, then layer 0 and up, then all together. */
  readonly parts: readonly OverlapPart[];
  readonly whole: OverlapPart;
}

interface Totals {
  dot: number;
  squares: [number, number];
  both: number;
  same: number;
  rows: number;
  rowsAbove: number;
}

const newTotals = (): Totals => ({ dot: 0, squares: [0, 0], both: 0, same: 0, rows: 0, rowsAbove: 0 });

const partOf = (layer: number | null, { dot, squares, both, same, rows, rowsAbove }: Totals): OverlapPart => {
  const norm = Math.sqrt(squares[0]) * Math.sqrt(squares[1]);
  return {
    layer,
    cosine: norm > 0 ? dot / norm : null,
    signAgreement: both > 0 ? same / both : null,
    rowsAboveInBoth: rows > 0 ? rowsAbove / rows : 0,
  };
};

/** Where pair i ≤ j of `count` experts stands among their pairs. */
const pairIndex = (i: number, j: number, count: number): number => i * count - (i * (i - 1)) / 2 + (j - i);

/** Rows above the threshold in both of two experts. */
const countAboveInBoth = (a: Float32Array, b: Float32Array, threshold: number): number => {
  let count = 0;
  for (const [index, mav] of a.entries()) if (mav > threshold && (b[index] ?? 0) > threshold) count += 1;
  return count;
};

/** The overlap of every pair of experts, layer by layer. */
export const overlapsOf = (
  { tensors, pairs }: ReductionPlan,
  reduced: readonly ReducedTensor[],
  experts: readonly MavVectors[],
  threshold: number,
): Overlap[] => {
  if (!pairs) return [];
  const overlaps: Overlap[] = [];
  for (const [i, a] of experts.entries())
    for (const [j, b] of experts.entries()) {
      if (j <= i) continue;
      const whole = newTotals();
      const byLayer = new Map<number | null, Totals>([[null, newTotals()]]);
      for (const [index, { name }] of tensors.entries()) {
        const layer = a.tensors[name]?.layer ?? null;
        const totals = byLayer.get(layer) ?? newTotals();
        byLayer.set(layer, totals);
        for (const sum of [totals, whole])
          add(sum, reduced[index]?.pairs ?? new Float64Array(), [i, j], experts.length);
        const [rowsOfA, rowsOfB] = [a.vectors.get(name), b.vectors.get(name)];
        if (rowsOfA === undefined || rowsOfB === undefined) continue;
        const above = countAboveInBoth(rowsOfA, rowsOfB, threshold);
        const finite = rowsOfA.filter((mav, row) => !Number.isNaN(mav + (rowsOfB[row] ?? 0))).length;
        for (const sum of [totals, whole]) {
          sum.rows += finite;
          sum.rowsAbove += above;
        }
      }
      overlaps.push({
        experts: [a.name, b.name],
        parts: [...byLayer]
          .sort(([x], [y]) => (x ?? -1) - (y ?? -1))
          .map(([layer, totals]) => partOf(layer, totals)),
        whole: partOf(null, whole),
      });
    }
  return overlaps;
};

const add = (totals: Totals, pairs: Float64Array, [i, j]: [number, number], count: number): void => {
  const at = (pair: number, what: number) => pairs[3 * pair + what] ?? 0;
  totals.dot += at(pairIndex(i, j, count), 0);
  totals.both += at(pairIndex(i, j, count), 1);
  totals.same += at(pairIndex(i, j, count), 2);
  totals.squares[0] += at(pairIndex(i, i, count), 0);
  totals.squares[1] += at(pairIndex(j, j, count), 0);
};
