import type { Lowering } from '../../methods/operations/program/lowering.js';
import type { Value } from '../../methods/operations/program/program.js';
import type { Assemble } from '../../methods/operations/rows/assemble.js';
import type { Copy } from '../../methods/operations/rows/copy.js';
import type { ArithmeticDtype, Dtype } from '../../tensor/dtype.js';
import type { Shape } from '../../tensor/reference.js';
import type { StoredTensor } from '../../tensor/stored-tensor.js';
import type { Refuse } from '../parse.js';

/** Names a stored tensor in descriptions and keys. */
export type Words = (stored: StoredTensor) => string;

export interface Target {
  readonly name: string;
  readonly dtype: Dtype;
  readonly shape: Shape;
  readonly elements: number;
}

/** `F` is the type of formulas of operands. */
export interface ParseContext<F> {
  readonly target: Target;
  readonly inputs: readonly { readonly files: readonly { readonly bytes: number }[] }[];
  readonly refuse: Refuse;
  nested(formula: unknown, dtype: Dtype): F;
}

/** For kinds that contain formulas. */
export interface FormulaReadings<F> {
  sourcesOf(formula: F): readonly StoredTensor[];
  describe(formula: F, nameOf: Words): string;
  keyOf(formula: F, identify: Words): string;
  lower(formula: F, dtype: ArithmeticDtype, to: Lowering): Promise<Value>;
}

/** Measures one statistic before a tensor is computed. */
export interface Pass {
  /** Name in reports: `Gram matrices`. */
  readonly what: string;
  readonly sources: readonly StoredTensor[];
}

/** By input index. */
export type Weights = ReadonlyMap<number, number>;

/**
 * Everything the rest of the tree knows about one kind of operand. Programs compute on float32 tiles of the
 * output's shape; a kind lists its byte ranges and appends nodes that make its tiles. In memory the kind is
 * under `operandKind`; in JSON a unique key tells it. Constructors write keys in the order of the JSON.
 */
export interface OperandKind<O, F = never> {
  /** The JSON key that no other kind has. */
  readonly key: string;
  /** Parses its JSON into a copy; checks the number of elements and the file's bounds. */
  parse(value: unknown, context: ParseContext<F>): O;
  /** Byte ranges in order. */
  sources(operand: O): readonly StoredTensor[];
  describe(operand: O, nameOf: Words): string;
  /** A text for shard keys. A change of this text invalidates such shards in every store. */
  keyText(operand: O, identify: Words): string;
  /** For kinds without a formula. */
  weights?(operand: O): Weights;
  /**
   * Appends the operand to a program. With `asBits`, elements are moved bit by bit and may have a dtype
   * without arithmetic.
   */
  lower(operand: O, to: Lowering, asBits: boolean): Promise<Value>;
  /** For computed kinds. */
  formula?(operand: O): F;
  /**
   * Returns the expression that moves the operand to an output of its dtype; if absent, the output is a sum
   * of one term.
   */
  move?(operand: O): Copy<StoredTensor> | Assemble<O> | F;
  /** True if its values are unchanged stored elements, of any dtype. */
  readonly keepsBits?: true;
  readonly movesRows?: true;
  /** True if its tensors may be sliced between rows only. */
  readonly needsRows?: true;
  /** Returns sources that must be finite: a product would spread NaN and infinity over rows and columns. */
  factors?(operand: O): readonly StoredTensor[];
  /** For products of matrices. */
  rank?(operand: O): number;
  statistics?(operand: O): readonly Pass[];
  /** Returns the model's tensor that it is, or that an adapter changes in it. */
  tensor?(operand: O): StoredTensor;
}
