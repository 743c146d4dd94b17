import type { Assemble } from './assemble.js';
import type { Concatenate } from './concatenate.js';
import type { Consensus } from './consensus.js';
import type { Copy } from './copy.js';
import type { Factor } from './factor.js';
import type { Fisher } from './fisher.js';
import type { Fusion } from './fusion.js';
import type { GramFormula } from './gram.js';
import type { Linear } from './linear.js';
import type { NearSwap } from './near-swap.js';
import type { PadRows } from './pad-rows.js';
import type { Quantise } from './quantise.js';
import type { Ram } from './ram.js';
import type { Random } from './random.js';
import type { RegMean } from './reg-mean.js';
import type { RowSelect } from './row-select.js';
import type { Same } from './same.js';
import type { Sce } from './sce.js';
import type { Spectral } from './spectral.js';

/** The kinds of formula. A new operation has a line here and one in index.ts. */
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
 * A tensor computed from operands: models' tensors in a method, byte ranges in a plan. If a formula needs
 * statistics of whole tensors (a threshold, a Gram matrix), the engine measures them just before it computes
 * the formula.
 */
export type Formula<T> = Formulas<T>[FormulaKind];

/** A formula that computes elements, unlike `copy` and `same`, which copy bytes. */
export type Computation<T> = Exclude<Formula<T>, Copy<T> | Same<T>>;
