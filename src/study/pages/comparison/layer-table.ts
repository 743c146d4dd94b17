import { itemAt, valueAt } from '../../../core/base/errors/lookup.js';
import { columnsOf, type PlacedMatrix } from '../../../core/measure/analysis/columns.js';
import type { Comparison, TensorComparison } from '../../../core/measure/comparison/comparison.js';

/**
 * Largest relative difference among a layer's tensors in a column. `other`: a tensor differs, but has no such
 * number (another shape, integers, or only in one model). Undefined: no such tensor.
 */
export type LayerCell = number | 'other' | undefined;

export interface LayerTable {
  /** Short headings: the name of a matrix in the model, or one heading for all vectors. */
  readonly columns: readonly string[];
  readonly cells: readonly (readonly LayerCell[])[];
}

export const isSame = ({ state }: TensorComparison): boolean => state === 'equal' || state === 'sameValues';

export const cellOf = (tensors: readonly TensorComparison[]): LayerCell => {
  if (tensors.length === 0) return undefined;
  let most = 0;
  for (const tensor of tensors) {
    if (isSame(tensor)) continue;
    const relative = tensor.difference?.relative ?? null;
    if (tensor.state !== 'differs' || relative === null) return 'other';
    most = Math.max(most, relative);
  }
  return most;
};

/** Tabulates differences by layer. The norms and biases of a layer share a column. */
export const layerTable = ({ a, b, tensors }: Comparison): LayerTable => {
  const layers = Math.max(a.layers, b.layers);
  const byName = new Map(tensors.map((tensor) => [tensor.name, tensor]));
  const matrices = columnsOf(
    Object.fromEntries(tensors.map((tensor) => [tensor.name, placed(tensor)])),
    layers,
  );
  const inColumns = new Set(matrices.flatMap((column) => column.layers.flat()));
  const others = Array.from({ length: layers }, (): TensorComparison[] => []);
  for (const tensor of tensors)
    if (tensor.layer !== null && !inColumns.has(tensor.name)) itemAt(others, tensor.layer).push(tensor);
  const rest = others.flat();
  const columns = matrices.map(({ layers: names }) =>
    names.map((ofLayer) => ofLayer.map((name) => valueAt(byName, name))),
  );
  return {
    columns: [
      ...matrices.map(({ ownLabel }) => ownLabel),
      ...(rest.length === 0 ? [] : [rest.every(({ module }) => /norm/.test(module)) ? 'norms' : 'vectors']),
    ],
    cells: Array.from({ length: layers }, (_, layer) => [
      ...columns.map((ofLayers) => cellOf(itemAt(ofLayers, layer))),
      ...(rest.length === 0 ? [] : [cellOf(itemAt(others, layer))]),
    ]),
  };
};

const placed = ({ layer, module, a, b, elements }: TensorComparison): PlacedMatrix => {
  const shape = (a ?? b)?.shape ?? [];
  const rows = shape.length > 1 ? itemAt(shape, 0) : 1;
  return { layer, module, rows, parametersPerRow: rows > 0 ? elements / rows : 0 };
};

/** Returns the upper end of the colour scale: the largest cell, at most 1. */
export const mostIn = ({ cells }: LayerTable): number =>
  Math.min(
    1,
    cells
      .flat()
      .reduce<number>((most, cell) => (typeof cell === 'number' ? Math.max(most, cell) : most), 1e-6),
  );
