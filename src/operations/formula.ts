import type { Consensus } from './consensus.js';
import type { Copy } from './copy.js';
import type { Fusion } from './fusion.js';
import type { GramFormula } from './gram.js';
import type { Linear } from './linear.js';
import type { NearSwap } from './near-swap.js';
import type { RowSelect } from './row-select.js';
import type { Same } from './same.js';
import type { Sce } from './sce.js';

/** The kinds of formula over operands `T`, by name. A new operation has a line here and one in index.ts. */
export interface Formulas<T> {
  copy: Copy<T>;
  same: Same<T>;
  linear: Linear<T>;
  rowSelect: RowSelect<T>;
  gram: GramFormula<T>;
  consensus: Consensus<T>;
  sce: Sce<T>;
  nearSwap: NearSwap<T>;
  fusion: Fusion<T>;
}

export type FormulaKind = keyof Formulas<unknown>;

/**
 * One tensor computed from others (`T`): methods speak of models' tensors, plans of byte ranges. A formula that needs a statistic of
 * whole tensors (a threshold, a Gram matrix) says which, and the engine finds it when it comes to the tensor.
 */
export type Formula<T> = Formulas<T>[FormulaKind];

/** A formula that computes: all but those that move bytes. */
export type Computation<T> = Exclude<Formula<T>, Copy<T> | Same<T>>;
