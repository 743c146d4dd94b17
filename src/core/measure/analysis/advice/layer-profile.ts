import { itemAt, propertyAt } from '../../../base/errors/lookup.js';
import { countAbove, type MavVectors } from '../analysis.js';
import { isLayerMatrix } from '../columns.js';
import { sortedRows } from './auto-threshold.js';

/** Share of rows that count as largest changes; 12 to 15 % in the published figures. */
export const largestShare = 1 / 8;

/** Scales numbers to a sum of 1; undefined if all are 0. */
export const normalised = (layers: readonly number[]): readonly number[] | undefined => {
  const total = layers.reduce((sum, of) => sum + of, 0);
  return total > 0 ? layers.map((of) => of / total) : undefined;
};

/**
 * Returns an expert's chart (paper, Figs. 4–9): a number for each layer, with a sum of 1; undefined if
 * nothing changed. The largest changes are the eighth of all rows in layers with the largest MAV. A layer's
 * number is their fraction of a matrix's rows, averaged over its matrices.
 */
export const layerProfile = (mav: MavVectors): readonly number[] | undefined => {
  const rows = sortedRows([mav]);
  if (rows.length === 0) return undefined;
  const threshold = itemAt(rows, Math.floor(rows.length * (1 - largestShare)));
  const layers = Array.from({ length: mav.layers }, (): number[] => []);
  for (const [name, vector] of mav.vectors) {
    const tensor = propertyAt(mav.tensors, name);
    if (!isLayerMatrix(tensor)) continue;
    const finite = tensor.rows - tensor.nonFiniteRows;
    if (finite > 0) itemAt(layers, tensor.layer).push(countAbove(vector, threshold) / finite);
  }
  return normalised(layers.map((of) => of.reduce((sum, fraction) => sum + fraction, 0) / (of.length || 1)));
};
