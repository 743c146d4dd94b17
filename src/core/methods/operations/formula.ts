import type { Factor } from './means/factor.js';
import type { Fisher } from './means/fisher.js';
import type { GramFormula } from './means/gram.js';
import type { Linear } from './means/linear.js';
import type { RegMean } from './means/reg-mean.js';
import type { Spectral } from './means/spectral.js';
import type { Quantise } from './quantised/quantise.js';
import type { Assemble } from './rows/assemble.js';
import type { Concatenate } from './rows/concatenate.js';
import type { Copy } from './rows/copy.js';
import type { NearSwap } from './rows/near-swap.js';
import type { PadRows } from './rows/pad-rows.js';
import type { Random } from './rows/random.js';
import type { RowSelect } from './rows/row-select.js';
import type { Same } from './rows/same.js';
import type { Consensus } from './votes/consensus.js';
import type { Fusion } from './votes/fusion.js';
import type { Ram } from './votes/ram.js';
import type { Sce } from './votes/sce.js';

/** All formulas by kind. A new operation needs a line here and in index.ts. */
export interface Formulas<T> {
  copy: Copy<T>;
  same: Same<T>;
  linear: Linear<T>;
  rowSelect: RowSelect<T>;
  gram: GramFormula<T>;
  consensus: Consensus<T>;
  sce: Sce<T>;
  nearSwap: NearSwap<T>;
  ram: Ram<T>;
  fisher: Fisher<T>;
  regMean: RegMean<T>;
  spectral: Spectral<T>;
  fusion: Fusion<T>;
  assemble: Assemble<T>;
  padRows: PadRows<T>;
  concatenate: Concatenate<T>;
  factor: Factor<T>;
  quantise: Quantise<T>;
  random: Random<T>;
}

export type FormulaKind = keyof Formulas<unknown>;

/**
 * A tensor computed from operands: models' tensors in a method, byte ranges in a plan. Statistics of whole
 * tensors that it needs (a threshold, a Gram matrix) are measured first.
 */
export type Formula<T> = Formulas<T>[FormulaKind];

/** A formula that computes elements; `copy` and `same` copy bytes. */
export type Computation<T> = Exclude<Formula<T>, Copy<T> | Same<T>>;
