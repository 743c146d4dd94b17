import { itemAt } from '../../base/errors/lookup.js';
import type { TensorRows } from './analysis.js';

export type PlacedMatrix = Pick<TensorRows, 'layer' | 'module' | 'rows' | 'parametersPerRow'>;

/** True for a matrix in a layer; false for norms, biases and tensors outside the layers. */
export const isLayerMatrix = (tensor: PlacedMatrix): tensor is PlacedMatrix & { readonly layer: number } =>
  tensor.layer !== null && tensor.rows > 1 && tensor.parametersPerRow > 1;

/** A kind of matrix across all layers, as in the paper's figures. */
export interface Column {
  /** The paper's name, such as `attention.wq.weight`; for other modules, the name after `layers.N.`. */
  readonly name: string;
  /** The paper's label, such as `wq`; for other modules, the name without `.weight`. */
  readonly label: string;
  /** The model's own label: `q` for `q_proj`, or Meta's `wq`. */
  readonly ownLabel: string;
  /** Names of tensors by layer. Rows of a mixture's experts are pooled. */
  readonly layers: readonly (readonly string[])[];
}

/** Label, published name, and pattern for Hugging Face's and Meta's names, in the paper's order. */
const paperColumns: readonly (readonly [string, string, RegExp])[] = [
  ['wq', 'attention.wq.weight', /^(self_attn\.q_proj|attention\.wq)\.weight$/],
  ['wk', 'attention.wk.weight', /^(self_attn\.k_proj|attention\.wk)\.weight$/],
  ['wv', 'attention.wv.weight', /^(self_attn\.v_proj|attention\.wv)\.weight$/],
  ['wo', 'attention.wo.weight', /^(self_attn\.o_proj|attention\.wo)\.weight$/],
  ['w1', 'feed_forward.w1.weight', /^(mlp\.gate_proj|feed_forward\.w1)\.weight$/],
  ['w3', 'feed_forward.w3.weight', /^(mlp\.up_proj|feed_forward\.w3)\.weight$/],
  ['w2', 'feed_forward.w2.weight', /^(mlp\.down_proj|feed_forward\.w2)\.weight$/],
];

const shortest = (module: string): string => module.replace(/(_proj)?\.weight$/, '').replace(/^.*\./, '');

/**
 * Pools a mixture's experts: `block_sparse_moe.experts.3.w1.weight` → `block_sparse_moe.experts.*.w1.weight`.
 */
const pooled = (module: string): string => module.replaceAll(/\.\d+\./g, '.*.');

/** Returns the paper's seven columns in its order, then other matrices. Leaves out norms and biases. */
export const columnsOf = (tensors: Readonly<Record<string, PlacedMatrix>>, layers: number): Column[] => {
  const columns = new Map<string, { label: string; ownLabel: string; layers: string[][] }>();
  const add = (name: string, label: string, ownLabel = label): string[][] => {
    const column = columns.get(name) ?? { label, ownLabel, layers: Array.from({ length: layers }, () => []) };
    columns.set(name, column);
    return column.layers;
  };
  const matrices = Object.entries(tensors).flatMap(([tensor, placed]) =>
    isLayerMatrix(placed) ? [{ tensor, layer: placed.layer, module: placed.module }] : [],
  );
  for (const [label, name, pattern] of paperColumns)
    for (const { tensor, layer, module } of matrices)
      if (pattern.test(module)) itemAt(add(name, label, shortest(module)), layer).push(tensor);
  for (const { tensor, layer, module } of matrices) {
    if (paperColumns.some(([, , pattern]) => pattern.test(module))) continue;
    const name = pooled(module);
    itemAt(add(name, name.replace(/\.weight$/, '')), layer).push(tensor);
  }
  return [...columns].map(([name, column]) => ({ name, ...column }));
};
