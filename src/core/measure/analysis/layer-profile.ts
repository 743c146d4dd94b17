import { itemAt, propertyAt } from '../../base/lookup.js';
import { countAbove, type MavVectors } from './analysis.js';
import { sortedRows } from './auto-threshold.js';
import { isLayerMatrix } from './columns.js';

/** Share of an expert's rows that count as its largest changes: that of the published figures, 12 to 15 %. */
export const largestShare = 1 / 8;

/** Scales numbers of layers to shares, which add up to 1. Undefined if all are 0. */
export const normalised = (layers: readonly number[]): readonly number[] | undefined => {
  const total = layers.reduce((sum, of) => sum + of, 0);
  return total > 0 ? layers.map((of) => of / total) : undefined;
};

/**
 * Returns the share of each layer in an expert's largest changes, layer 0 first: of the rows of all its matrices inside layers the
 * eighth of the largest MAV; of each matrix of a layer the fraction of its rows that are among them; their mean, scaled
 * so that the layers add up to 1. The picture of an expert (paper, Figs. 4–9), a number a layer. Undefined where nothing
 * changed.
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
