import { itemAt, propertyAt, valueAt } from '../../base/errors/lookup.js';
import type { ReducedTensor } from '../../engine/compute/measures/reduce.js';
import type { ReductionPlan } from '../../plan/reports/reduction.js';
import { pairIndex } from '../../tensor/pair-index.js';
import type { MavVectors } from './analysis.js';

/** Overlap of two experts' changes in a layer, outside the layers, or overall. */
export interface OverlapPart {
  /** Layer; null outside the layers and for the whole model. */
  readonly layer: number | null;
  /** Cosine of the task vectors; null if either is 0 or sums overflow. */
  readonly cosine: number | null;
  /** Share of equal signs among elements that both experts changed; null without such elements. */
  readonly signAgreement: number | null;
  /** Share of rows above both thresholds, among rows finite in both. */
  readonly rowsAboveInBoth: number;
}

/** Overlap of two experts' changes. */
export interface Overlap {
  readonly experts: readonly [string, string];
  /** The part outside the layers, then one per layer. */
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
    cosine: norm > 0 && Number.isFinite(norm) && Number.isFinite(dot) ? dot / norm : null,
    signAgreement: both > 0 ? same / both : null,
    rowsAboveInBoth: rows > 0 ? rowsAbove / rows : 0,
  };
};

const countRows = (
  a: Float32Array,
  b: Float32Array,
  [ofA, ofB]: readonly [number, number],
): { finite: number; above: number } => {
  if (a.length !== b.length) throw new RangeError(`${a.length} and ${b.length} rows of one tensor`);
  let [finite, above] = [0, 0];
  // Loops over indexes: `entries()` would allocate a pair per row.
  for (let row = 0; row < a.length; row += 1) {
    const mavOfA = a[row] ?? Number.NaN;
    const mavOfB = b[row] ?? Number.NaN;
    if (!Number.isNaN(mavOfA) && !Number.isNaN(mavOfB)) finite += 1;
    if (mavOfA > ofA && mavOfB > ofB) above += 1;
  }
  return { finite, above };
};

/** Returns overlaps of each pair; empty if the plan has no pairs. */
export const overlapsOf = (
  { tensors, pairs }: ReductionPlan,
  reduced: readonly Pick<ReducedTensor, 'pairs'>[],
  experts: readonly MavVectors[],
  thresholds: readonly number[],
): Overlap[] => {
  if (!pairs) return [];
  const overlaps: Overlap[] = [];
  for (const [i, a] of experts.entries())
    for (const [j, b] of experts.entries()) {
      if (j <= i) continue;
      const both = [itemAt(thresholds, i), itemAt(thresholds, j)] as const;
      const whole = newTotals();
      const byLayer = new Map<number | null, Totals>([[null, newTotals()]]);
      for (const [index, { name }] of tensors.entries()) {
        const { layer } = propertyAt(a.tensors, name);
        const totals = byLayer.get(layer) ?? newTotals();
        byLayer.set(layer, totals);
        const { finite, above } = countRows(valueAt(a.vectors, name), valueAt(b.vectors, name), both);
        for (const sum of [totals, whole]) {
          add(sum, itemAt(reduced, index).pairs, [i, j], experts.length);
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

/** Adds a pair's sums. `pairs` has three numbers per pair, as in `ReducedTensor`. */
const add = (totals: Totals, pairs: Float64Array, [i, j]: [number, number], count: number): void => {
  const at = (pair: number, sum: 0 | 1 | 2) => itemAt(pairs, 3 * pair + sum);
  totals.dot += at(pairIndex(i, j, count), 0);
  totals.both += at(pairIndex(i, j, count), 1);
  totals.same += at(pairIndex(i, j, count), 2);
  totals.squares[0] += at(pairIndex(i, i, count), 0);
  totals.squares[1] += at(pairIndex(j, j, count), 0);
};
