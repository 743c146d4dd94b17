import { invalidParameter } from '../../../base/errors/invalid-parameter.js';
import { itemAt, valueAt } from '../../../base/errors/lookup.js';
import type { MavVectors } from '../analysis.js';
import { isLayerMatrix } from '../columns.js';

/** Counts rows among the largest changes of both experts, in one layer or in all. */
export interface TopOverlapPart {
  /** Layer; null for all layers together. */
  readonly layer: number | null;
  /** Number of rows taken from each expert; the smaller number if one expert changed fewer rows. */
  readonly rows: number;
  readonly inBoth: number;
  readonly shared: number | null;
  /** Value of `shared` for randomly chosen rows; null without rows. */
  readonly chance: number | null;
}

/** Overlap of two experts' largest changes. */
export interface TopOverlap {
  readonly experts: readonly [string, string];
  /** Share of each matrix's rows that are taken. */
  readonly topShare: number;
  readonly parts: readonly TopOverlapPart[];
  readonly whole: TopOverlapPart;
}

/** @throws INVALID_PARAMETER for an invalid share, or a single expert */
export const checkTopShare = (share: number | undefined, experts: number): void => {
  if (share === undefined) return;
  if (!(share > 0 && share < 1)) throw invalidParameter('top-share', share, 'a number between 0 and 1');
  if (experts < 2)
    throw invalidParameter('top-share', share, 'two experts at least, whose changes it compares');
};

/** Returns the `count` changed rows with the largest MAV, or all if fewer changed. Ties go to the first. */
const largestRows = (vector: Float32Array, rows: readonly number[], count: number): ReadonlySet<number> => {
  const changed = rows.filter((row) => itemAt(vector, row) > 0);
  return new Set(changed.sort((a, b) => itemAt(vector, b) - itemAt(vector, a) || a - b).slice(0, count));
};

interface Totals {
  rows: number;
  inBoth: number;
  expected: number;
}

const partOf = (layer: number | null, { rows, inBoth, expected }: Totals): TopOverlapPart => ({
  layer,
  rows,
  inBoth,
  shared: rows > 0 ? inBoth / rows : null,
  chance: rows > 0 ? expected / rows : null,
});

const overlapOf = (a: MavVectors, b: MavVectors, topShare: number): TopOverlap => {
  const byLayer = Array.from({ length: a.layers }, (): Totals => ({ rows: 0, inBoth: 0, expected: 0 }));
  for (const [name, tensor] of Object.entries(a.tensors)) {
    if (!isLayerMatrix(tensor)) continue;
    const [ofA, ofB] = [valueAt(a.vectors, name), valueAt(b.vectors, name)];
    const finite = [...ofA.keys()].filter(
      (row) => !Number.isNaN(itemAt(ofA, row)) && !Number.isNaN(itemAt(ofB, row)),
    );
    const count = Math.max(1, Math.round(topShare * finite.length));
    const [topOfA, topOfB] = [largestRows(ofA, finite, count), largestRows(ofB, finite, count)];
    const totals = itemAt(byLayer, tensor.layer);
    totals.rows += Math.min(topOfA.size, topOfB.size);
    totals.inBoth += [...topOfA].filter((row) => topOfB.has(row)).length;
    totals.expected += finite.length === 0 ? 0 : (topOfA.size * topOfB.size) / finite.length;
  }
  const sum = (key: keyof Totals) => byLayer.reduce((total, totals) => total + totals[key], 0);
  return {
    experts: [a.name, b.name],
    topShare,
    parts: byLayer.map((totals, layer) => partOf(layer, totals)),
    whole: partOf(null, { rows: sum('rows'), inBoth: sum('inBoth'), expected: sum('expected') }),
  };
};

/**
 * Compares each pair of experts by the `topShare` of rows with the largest MAV. Takes them from each matrix
 * in layers, so that none dominates.
 */
export const topOverlapsOf = (experts: readonly MavVectors[], topShare: number): TopOverlap[] =>
  experts.flatMap((a, index) => experts.slice(index + 1).map((b) => overlapOf(a, b, topShare)));
