import { consensus } from './consensus.js';
import { type Copy, copy } from './copy.js';
import type { Formula, FormulaKind, Formulas } from './formula.js';
import { fusion } from './fusion.js';
import { gram } from './gram.js';
import { linear } from './linear.js';
import { nearSwap } from './near-swap.js';
import type { Operation, Statistic } from './operation.js';
import type { Value } from './program.js';
import { rowSelect } from './row-select.js';
import { type Same, same } from './same.js';
import { sce } from './sce.js';

export type { Operation, Statistic, Target } from './operation.js';

type OperationOf<K extends FormulaKind> = Operation<
  Formulas<unknown>[K],
  Formulas<string>[K],
  Formulas<Value>[K]
> & {
  map<T, U>(formula: Formulas<T>[K], to: (operand: T) => U): Formulas<U>[K];
  statistics?<T>(formula: Formulas<T>[K]): readonly Statistic<T>[];
};

/** All operations by the kind of their formulas. The compiler asks for one of each kind, and for every fact about it. */
const operations: { readonly [K in FormulaKind]: OperationOf<K> } = {
  copy,
  same,
  linear,
  rowSelect,
  gram,
  consensus,
  sce,
  nearSwap,
  fusion,
};

/** The operation of a formula, whatever its kind: to be used with formulas of that kind alone. */
interface AnyOperation extends Operation<Formula<unknown>, Formula<string>, Formula<Value>> {
  map<T, U>(formula: Formula<T>, to: (operand: T) => U): Formula<U>;
  statistics?<T>(formula: Formula<T>): readonly Statistic<T>[];
}

export const operationOf = ({ kind }: { readonly kind: FormulaKind }): AnyOperation =>
  operations[kind] as unknown as AnyOperation;

/** Schemas of formulas in a plan's JSON, by kind. */
export const formulaSchemas = Object.values(operations).map(({ schema }) => schema);

/** The same formula over other operands; `to` is called in their order. */
export const mapOperands = <T, U>(formula: Formula<T>, to: (operand: T) => U): Formula<U> =>
  operationOf(formula).map(formula, to);

/** The operands of a formula, in order. */
export const operandsOf = <T>(formula: Formula<T>): readonly T[] => {
  const operands: T[] = [];
  mapOperands(formula, (operand) => operands.push(operand));
  return operands;
};

/** The statistics of whole tensors that a formula takes. */
export const statisticsOf = <T>(formula: Formula<T>): readonly Statistic<T>[] =>
  operationOf(formula).statistics?.(formula) ?? [];

/** True if the bytes of stored tensors are moved as they are. */
export const isMove = <T>(formula: Formula<T>): formula is Copy<T> | Same<T> =>
  operationOf(formula).isMove === true;
