import type { Lowering } from '../../methods/operations/program/lowering.js';
import type { Value } from '../../methods/operations/program/program.js';
import type { Assemble } from '../../methods/operations/rows/assemble.js';
import type { Copy } from '../../methods/operations/rows/copy.js';
import type { ArithmeticDtype, Dtype } from '../../tensor/dtype.js';
import type { Shape } from '../../tensor/reference.js';
import type { StoredTensor } from '../../tensor/stored-tensor.js';
import type { Refuse } from '../parse.js';

export type Words = (stored: StoredTensor) => string;

export interface Target {
  readonly name: string;
  readonly dtype: Dtype;
  readonly shape: Shape;
  readonly elements: number;
}

/** Target and inputs of an operand to parse; `F` is the type of nested formulas. */
export interface ParseContext<F> {
  readonly target: Target;
  readonly inputs: readonly { readonly files: readonly { readonly bytes: number }[] }[];
  readonly refuse: Refuse;
  nested(formula: unknown, dtype: Dtype): F;
}

export interface FormulaReadings<F> {
  sourcesOf(formula: F): readonly StoredTensor[];
  describe(formula: F, nameOf: Words): string;
  keyOf(formula: F, identify: Words): string;
  lower(formula: F, dtype: ArithmeticDtype, to: Lowering): Promise<Value>;
}

/** A pass that measures a statistic before a tensor is computed. */
export interface Pass {
  /** The statistic, for reports, such as `Gram matrices`. */
  readonly what: string;
  readonly sources: readonly StoredTensor[];
}

export type Weights = ReadonlyMap<number, number>;

/**
 * A kind of operand: which byte ranges it reads, and which nodes it appends to a program. Programs compute
 * float32 tiles of the output. Operands have their kind under `operandKind`; in JSON, a key of their own
 * identifies it. Constructors write keys in JSON's order.
 */
export interface OperandKind<O, F = never> {
  /** A key that no other kind has in JSON. */
  readonly key: string;
  /** Parses a copy; checks the number of elements and the file's bounds. */
  parse(value: unknown, context: ParseContext<F>): O;
  sources(operand: O): readonly StoredTensor[];
  describe(operand: O, nameOf: Words): string;
  /** Returns the text for shard keys. Changing it invalidates these shards in every store. */
  keyText(operand: O, identify: Words): string;
  weights?(operand: O): Weights;
  /** Appends nodes. With `asBits`, they only move bits, for dtypes without arithmetic. */
  lower(operand: O, to: Lowering, asBits: boolean): Promise<Value>;
  formula?(operand: O): F;
  /** Returns a formula that outputs the operand in its own dtype; default: a one-term sum. */
  move?(operand: O): Copy<StoredTensor> | Assemble<O> | F;
  /** True if stored elements of any dtype stay unchanged. */
  readonly keepsBits?: true;
  readonly movesRows?: true;
  /** True if tensors may only be sliced between rows. */
  readonly needsRows?: true;
  /** Returns factors. They must be finite: a product would spread NaN and infinity over rows and columns. */
  factors?(operand: O): readonly StoredTensor[];
  rank?(operand: O): number;
  statistics?(operand: O): readonly Pass[];
  tensor?(operand: O): StoredTensor;
}
