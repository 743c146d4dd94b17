import type { Lowering } from '../../methods/operations/program/lowering.js';
import type { Value } from '../../methods/operations/program/program.js';
import type { Assemble } from '../../methods/operations/rows/assemble.js';
import type { Copy } from '../../methods/operations/rows/copy.js';
import type { ArithmeticDtype, Dtype } from '../../tensor/dtype.js';
import type { Shape } from '../../tensor/reference.js';
import type { StoredTensor } from '../../tensor/stored-tensor.js';
import type { Refuse } from '../parse.js';

/** For descriptions and keys. */
export type Words = (stored: StoredTensor) => string;

export interface Target {
  readonly name: string;
  readonly dtype: Dtype;
  readonly shape: Shape;
  readonly elements: number;
}

/** `F` is the type of nested formulas. */
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

/** A pass measures one statistic before a tensor is computed. */
export interface Pass {
  /** For reports, such as `Gram matrices`. */
  readonly what: string;
  readonly sources: readonly StoredTensor[];
}

/** By input index. */
export type Weights = ReadonlyMap<number, number>;

/**
 * A kind lists byte ranges, and appends nodes to a program that computes on float32 tiles of the output's
 * shape. Operands have their kind under `operandKind`; in JSON, the key `key` identifies the kind.
 * Constructors write keys in JSON's order.
 */
export interface OperandKind<O, F = never> {
  /** No other kind has it in JSON. */
  readonly key: string;
  /** Copies what it parses; checks the number of elements and the bounds of its file. */
  parse(value: unknown, context: ParseContext<F>): O;
  sources(operand: O): readonly StoredTensor[];
  describe(operand: O, nameOf: Words): string;
  /** For shard keys. Changing this text invalidates such shards in every store. */
  keyText(operand: O, identify: Words): string;
  /** By input, for kinds without a formula. */
  weights?(operand: O): Weights;
  /** `asBits` moves bits, so that dtypes without arithmetic work. */
  lower(operand: O, to: Lowering, asBits: boolean): Promise<Value>;
  formula?(operand: O): F;
  /** To an output of the operand's dtype. Default: a one-term sum. */
  move?(operand: O): Copy<StoredTensor> | Assemble<O> | F;
  /** True if stored elements of any dtype are unchanged. */
  readonly keepsBits?: true;
  readonly movesRows?: true;
  /** True if tensors may be sliced between rows only. */
  readonly needsRows?: true;
  /** Factors must be finite: a product would spread NaN and infinity over whole rows and columns. */
  factors?(operand: O): readonly StoredTensor[];
  rank?(operand: O): number;
  statistics?(operand: O): readonly Pass[];
  /** The operand itself, or the tensor that an adapter changes. */
  tensor?(operand: O): StoredTensor;
}
