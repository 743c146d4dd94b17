import type { Assemble } from '../../methods/operations/assemble.js';
import type { Copy } from '../../methods/operations/copy.js';
import type { Lowering } from '../../methods/operations/lowering.js';
import type { Value } from '../../methods/operations/program.js';
import type { ArithmeticDtype, Dtype } from '../../tensor/dtype.js';
import type { Shape } from '../../tensor/reference.js';
import type { StoredTensor } from '../../tensor/stored-tensor.js';
import type { Refuse } from '../parse.js';

/** Returns the text of a stored tensor, from which descriptions and keys of operands are made. */
export type Words = (stored: StoredTensor) => string;

/** The properties of an output tensor that its expression must match. */
export interface Target {
  readonly name: string;
  readonly dtype: Dtype;
  readonly shape: Shape;
  readonly elements: number;
}

/** What an operand is parsed against. `F` is the type of formulas of operands. */
export interface ParseContext<F> {
  readonly target: Target;
  readonly inputs: readonly { readonly files: readonly { readonly bytes: number }[] }[];
  readonly refuse: Refuse;
  /** Parses a formula that computes an operand of a dtype. */
  nested(formula: unknown, dtype: Dtype): F;
}

/** What the kinds with a formula inside ask of formulas. */
export interface FormulaReadings<F> {
  sourcesOf(formula: F): readonly StoredTensor[];
  describe(formula: F, nameOf: Words): string;
  keyOf(formula: F, identify: Words): string;
  lower(formula: F, dtype: ArithmeticDtype, to: Lowering): Promise<Value>;
}

/** A pass over inputs of a tensor that measures one statistic, before the tensor is computed. */
export interface Pass {
  /** The statistic's name in reports: `Gram matrices`. */
  readonly what: string;
  readonly sources: readonly StoredTensor[];
}

/** The weight of each input in a value, by the input's index. */
export type Weights = ReadonlyMap<number, number>;

/**
 * Everything the rest of the tree knows about one kind of operand. Programs compute on float32 tiles of the output's
 * shape, whatever an operand is made of: a kind says which byte ranges it is made of, and appends nodes that make its
 * tiles. In memory an operand has its kind under `operandKind`; its JSON has not, and is told by a key that no other kind
 * has. The function that makes an operand of a kind writes its keys in the order of the JSON.
 */
export interface OperandKind<O, F = never> {
  /** The key of its JSON that no other kind has. */
  readonly key: string;
  /** Parses its JSON into a copy; checks that it has the target's elements and lies within its files. */
  parse(value: unknown, context: ParseContext<F>): O;
  /** Returns the byte ranges that the operand is made of, in order. */
  sources(operand: O): readonly StoredTensor[];
  /** Returns its words for people. */
  describe(operand: O, nameOf: Words): string;
  /** Returns its text in a shard's key. A change invalidates such shards in every store. */
  keyText(operand: O, identify: Words): string;
  /** Returns the weights of inputs in its values, for kinds without a formula. */
  weights?(operand: O): Weights;
  /**
   * Appends the operand to a program. With `asBits` its elements are moved bit by bit, and may have a dtype
   * without arithmetic.
   */
  lower(operand: O, to: Lowering, asBits: boolean): Promise<Value>;
  /** Returns the formula that computes the operand, for kinds that are computed. */
  formula?(operand: O): F;
  /**
   * Returns the expression that moves the operand to an output of its dtype. Without, the output is computed as a sum of
   * one term.
   */
  move?(operand: O): Copy<StoredTensor> | Assemble<O> | F;
  /** Its values are unchanged elements of stored tensors, so that any dtype will do. */
  readonly keepsBits?: true;
  /** Its rows stand in another order than in its source. */
  readonly movesRows?: true;
  /** It needs whole rows: tensors of it are sliced between rows only. */
  readonly needsRows?: true;
  /** Returns those of its sources that must be finite, since a product spreads what is not over rows and columns. */
  factors?(operand: O): readonly StoredTensor[];
  /** Returns its rank, for products of matrices. */
  rank?(operand: O): number;
  /** Returns the passes over sources that find its statistics. */
  statistics?(operand: O): readonly Pass[];
  /** Returns the model's tensor that it stands for, in words and weights: itself, or the one that an adapter changes. */
  tensor?(operand: O): StoredTensor;
}
