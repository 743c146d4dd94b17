import type { TensorRows } from './analysis.js';

/** A column of the paper's figures: a kind of matrix, one in each layer. */
export interface Column {
  /** As the published tables name it: `attention.wq.weight`; for other modules the name behind `layers.N.`. */
  readonly name: string;
  /** Short: `wq`. */
  readonly label: string;
  /** The tensors of each layer, from layer 0 on. A mixture of experts has several, whose rows are pooled. */
  readonly layers: readonly (readonly string[])[];
}

/** The seven matrices of a Llama layer in the paper's order, with Hugging Face's and Meta's names. */
const paperColumns: readonly (readonly [string, string, RegExp])[] = [
  ['wq', 'attention.wq.weight', /^(self_attn\.q_proj|attention\.wq)\.weight$/],
  ['wk', 'attention.wk.weight', /^(self_attn\.k_proj|attention\.wk)\.weight$/],
  ['wv', 'attention.wv.weight', /^(self_attn\.v_proj|attention\.wv)\.weight$/],
  ['wo', 'attention.wo.weight', /^(self_attn\.o_proj|attention\.wo)\.weight$/],
  ['w1', 'feed_forward.w1.weight', /^(mlp\.gate_proj|feed_forward\.w1)\.weight$/],
  ['w3', 'feed_forward.w3.weight', /^(mlp\.up_proj|feed_forward\.w3)\.weight$/],
  ['w2', 'feed_forward.w2.weight', /^(mlp\.down_proj|feed_forward\.w2)\.weight$/],
];

/** `block_sparse_moe.experts.3.w1.weight` → `block_sparse_moe.experts.*.w1.weight` */
const pooled = (module: string): string => module.replaceAll(/\.\d+\./g, '.*.');

/**
 * The columns that a model has: the paper's seven first, in its order, then its other matrices as they come. Norms and biases
 * are no matrices.
 */
export const columnsOf = (tensors: Readonly<Record<string, TensorRows>>, layers: number): Column[] => {
  const columns = new Map<string, { label: string; layers: string[][] }>();
  const add = (name: string, label: string): string[][] => {
    const column = columns.get(name) ?? { label, layers: Array.from({ length: layers }, () => []) };
    columns.set(name, column);
    return column.layers;
  };
  const inLayers = Object.entries(tensors).filter(
    ([, { layer, rows, parametersPerRow }]) => layer !== null && rows > 1 && parametersPerRow > 1,
  );
  const published = ({ module }: TensorRows) => paperColumns.find(([, , pattern]) => pattern.test(module));
  for (const [label, name, pattern] of paperColumns)
    for (const [tensor, { module, layer }] of inLayers)
      if (pattern.test(module)) add(name, label)[layer ?? 0]?.push(tensor);
  for (const [tensor, rows] of inLayers) {
    if (published(rows) !== undefined) continue;
    const name = pooled(rows.module);
    add(name, name.replace(/\.weight$/, ''))[rows.layer ?? 0]?.push(tensor);
  }
  return [...columns].map(([name, column]) => ({ name, ...column }));
};
