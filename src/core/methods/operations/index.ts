import type { Shape } from '../../tensor/reference.js';
import type { Formula, FormulaKind, Formulas } from './formula.js';
import { type Factor, factor } from './means/factor.js';
import { fisher } from './means/fisher.js';
import { gram } from './means/gram.js';
import { linear } from './means/linear.js';
import { regMean } from './means/reg-mean.js';
import { spectral } from './means/spectral.js';
import type { Operation, Statistic } from './program/operation.js';
import type { Value } from './program/program.js';
import { type Quantise, quantise } from './quantised/quantise.js';
import { assemble } from './rows/assemble.js';
import { concatenate } from './rows/concatenate.js';
import { type Copy, copy } from './rows/copy.js';
import { nearSwap } from './rows/near-swap.js';
import { padRows } from './rows/pad-rows.js';
import { random } from './rows/random.js';
import { rowSelect } from './rows/row-select.js';
import { type Same, same } from './rows/same.js';
import { consensus } from './votes/consensus.js';
import { fusion } from './votes/fusion.js';
import { ram } from './votes/ram.js';
import { sce } from './votes/sce.js';

export type { Operation, Statistic, Target } from './program/operation.js';

type OperationOf<K extends FormulaKind> = Operation<
  Formulas<unknown>[K],
  Formulas<string>[K],
  Formulas<Value>[K]
> & {
  map<T, U>(formula: Formulas<T>[K], to: (operand: T) => U): Formulas<U>[K];
  statistics?<T>(formula: Formulas<T>[K]): readonly Statistic<T>[];
};

/** All operations, loaded at first use. TypeScript reports a kind without one. */
const operations = {
  copy: () => copy,
  same: () => same,
  linear: () => linear,
  rowSelect: () => rowSelect,
  gram: () => gram,
  consensus: () => consensus,
  sce: () => sce,
  nearSwap: () => nearSwap,
  ram: () => ram,
  fisher: () => fisher,
  regMean: () => regMean,
  spectral: () => spectral,
  fusion: () => fusion,
  assemble: () => assemble,
  padRows: () => padRows,
  concatenate: () => concatenate,
  factor: () => factor,
  quantise: () => quantise,
  random: () => random,
} satisfies { readonly [K in FormulaKind]: () => OperationOf<K> };

type WholeKind = {
  [K in FormulaKind]: ReturnType<(typeof operations)[K]> extends { readonly isWhole: true } ? K : never;
}[FormulaKind];

/** A formula whose tensor is made as a whole by a solver. */
export type MadeWhole<T> = Formulas<T>[WholeKind];

/** An operation of any kind; types cannot express that its formula has that kind. */
interface AnyOperation extends Operation<Formula<unknown>, Formula<string>, Formula<Value>> {
  map<T, U>(formula: Formula<T>, to: (operand: T) => U): Formula<U>;
  statistics?<T>(formula: Formula<T>): readonly Statistic<T>[];
}

export const operationOf = ({ kind }: { readonly kind: FormulaKind }): AnyOperation =>
  operations[kind]() as unknown as AnyOperation;

export const formulaKinds = Object.keys(operations) as readonly FormulaKind[];

export const formulaSchemas = () => Object.values(operations).map((operation) => operation().schema);

/** Replaces operands, calling `to` in their order. */
export const mapOperands = <T, U>(formula: Formula<T>, to: (operand: T) => U): Formula<U> =>
  operationOf(formula).map(formula, to);

export const operandsOf = <T>(formula: Formula<T>): readonly T[] => {
  const operands: T[] = [];
  mapOperands(formula, (operand) => operands.push(operand));
  return operands;
};

export const draws = (formula: Formula<unknown>): boolean => operationOf(formula).draws?.(formula) ?? false;

/** Returns the bytes that a thread needs beyond its tile. */
export const threadBytesOf = (formula: Formula<unknown>, shape: Shape): number =>
  operationOf(formula).threadBytes?.(formula, shape) ?? 0;

/** Returns how to need less memory, for formulas that need more than tiles. */
export const lighterThan = (formula: Formula<unknown>): string | undefined =>
  operationOf(formula).lighter?.(formula);

export const operandShapes = (formula: Formula<unknown>, shape: Shape): readonly Shape[] =>
  operationOf(formula).operandShapes?.(formula, shape) ?? operandsOf(formula).map(() => shape);

export const statisticsOf = <T>(formula: Formula<T>): readonly Statistic<T>[] =>
  operationOf(formula).statistics?.(formula) ?? [];

export const isMove = <T>(formula: Formula<T>): formula is Copy<T> | Same<T> =>
  operationOf(formula).isMove === true;

export const isWhole = <T>(formula: Formula<T>): formula is MadeWhole<T> =>
  operationOf(formula).isWhole === true;

export const isPart = <T>(formula: Formula<T>): formula is Factor<T> | Quantise<T> =>
  formula.kind === 'factor' || formula.kind === 'quantise';
