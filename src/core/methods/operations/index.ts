import type { Shape } from '../../tensor/reference.js';
import { assemble } from './assemble.js';
import { concatenate } from './concatenate.js';
import { consensus } from './consensus.js';
import { type Copy, copy } from './copy.js';
import { type Factor, factor } from './factor.js';
import { fisher } from './fisher.js';
import type { Formula, FormulaKind, Formulas } from './formula.js';
import { fusion } from './fusion.js';
import { gram } from './gram.js';
import { linear } from './linear.js';
import { nearSwap } from './near-swap.js';
import type { Operation, Statistic } from './operation.js';
import { padRows } from './pad-rows.js';
import type { Value } from './program.js';
import { type Quantise, quantise } from './quantise.js';
import { ram } from './ram.js';
import { random } from './random.js';
import { regMean } from './reg-mean.js';
import { rowSelect } from './row-select.js';
import { type Same, same } from './same.js';
import { sce } from './sce.js';
import { spectral } from './spectral.js';

export type { Operation, Statistic, Target } from './operation.js';

type OperationOf<K extends FormulaKind> = Operation<
  Formulas<unknown>[K],
  Formulas<string>[K],
  Formulas<Value>[K]
> & {
  map<T, U>(formula: Formulas<T>[K], to: (operand: T) => U): Formulas<U>[K];
  statistics?<T>(formula: Formulas<T>[K]): readonly Statistic<T>[];
};

/**
 * The operation of each kind of formula. The type is complete: a new kind does not compile until it has an
 * operation here.
 */
const operations: { readonly [K in FormulaKind]: OperationOf<K> } = {
  copy,
  same,
  linear,
  rowSelect,
  gram,
  consensus,
  sce,
  nearSwap,
  ram,
  fisher,
  regMean,
  spectral,
  fusion,
  assemble,
  padRows,
  concatenate,
  factor,
  quantise,
  random,
};

/**
 * An operation of unknown kind. Its functions take formulas of that kind only, which the types cannot
 * express.
 */
interface AnyOperation extends Operation<Formula<unknown>, Formula<string>, Formula<Value>> {
  map<T, U>(formula: Formula<T>, to: (operand: T) => U): Formula<U>;
  statistics?<T>(formula: Formula<T>): readonly Statistic<T>[];
}

export const operationOf = ({ kind }: { readonly kind: FormulaKind }): AnyOperation =>
  operations[kind] as unknown as AnyOperation;

/** The kinds of formula. */
export const formulaKinds = Object.keys(operations) as readonly FormulaKind[];

/** The schema of each kind of formula in a plan's JSON. */
export const formulaSchemas = Object.values(operations).map(({ schema }) => schema);

/** Returns the formula with each operand replaced by `to(operand)`; `to` is called in operand order. */
export const mapOperands = <T, U>(formula: Formula<T>, to: (operand: T) => U): Formula<U> =>
  operationOf(formula).map(formula, to);

/** The operands of a formula, in order. */
export const operandsOf = <T>(formula: Formula<T>): readonly T[] => {
  const operands: T[] = [];
  mapOperands(formula, (operand) => operands.push(operand));
  return operands;
};

/** Returns the private memory in bytes, beside a tile, of the thread that makes a tensor of a shape by the formula. */
export const threadBytesOf = (formula: Formula<unknown>, shape: Shape): number =>
  operationOf(formula).threadBytes?.(formula, shape) ?? 0;

/** Returns what a recipe would use instead to take less memory; undefined of formulas that take tiles alone. */
export const lighterThan = (formula: Formula<unknown>): string | undefined =>
  operationOf(formula).lighter?.(formula);

/** Returns the shape that each operand of a formula of this shape has. */
export const operandShapes = (formula: Formula<unknown>, shape: Shape): readonly Shape[] =>
  operationOf(formula).operandShapes?.(formula, shape) ?? operandsOf(formula).map(() => shape);

/** Returns the statistics of whole tensors that must be measured before the formula is computed. */
export const statisticsOf = <T>(formula: Formula<T>): readonly Statistic<T>[] =>
  operationOf(formula).statistics?.(formula) ?? [];

/** True if the formula moves the bytes of a stored tensor unchanged. */
export const isMove = <T>(formula: Formula<T>): formula is Copy<T> | Same<T> =>
  operationOf(formula).isMove === true;

/** True if the formula is computed by a job of its own kind, and never within a program. */
export const isWhole = ({ kind }: { readonly kind: FormulaKind }): boolean =>
  operationOf({ kind }).isWhole === true;

/** True for a formula of a part of a matrix, of which other tensors have the other parts: its factors, its codes and scales. */
export const isPart = <T>(formula: Formula<T>): formula is Factor<T> | Quantise<T> =>
  formula.kind === 'factor' || formula.kind === 'quantise';
