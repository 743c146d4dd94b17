import type { z } from 'zod';
import type { ArithmeticDtype, Dtype } from '../tensor/dtype.js';
import type { Shape } from '../tensor/reference.js';
import type { Lowering } from './lowering.js';
import type { Value } from './program.js';

/** The tensor that a formula computes, as a plan has it. */
export interface Target {
  readonly name: string;
  readonly dtype: Dtype;
  readonly shape: Shape;
}

/** A reading of operands before the tensor is computed, for one statistic of whole tensors. */
export interface Statistic<T> {
  /** For people: `Gram matrices`. */
  readonly what: string;
  readonly operands: readonly T[];
}

/**
 * An operation: one kind of formula, and every fact about it. A formula is generic in its operands: models' tensors (`ModelTensor`) as a
 * method writes it, byte ranges and nested formulas as a plan has it, words when it is described, values of a program when it is lowered.
 */
export interface Operation<Unparsed, Worded, Valued> {
  /** The structure in a plan's JSON; operands are parsed by themselves. */
  readonly schema: z.ZodType<Unparsed>;
  /**
   * Returns the same formula over other operands, and calls `to` in their order. Generic in both operands, which index.ts checks.
   */
  readonly map: (formula: never, to: never) => unknown;
  /** Statistics of whole tensors that `lower` measures: one reading of their operands each. */
  readonly statistics?: (formula: never) => readonly Statistic<unknown>[];
  /**
   * True if operands' bits are taken as they are: they must have the output's dtype, whatever it is. Otherwise operands are floating
   * numbers, each of a dtype of its own, and the result is rounded once.
   */
  readonly takesBits?: true;
  /** True if bytes are moved as they are, by a job of their own that knows no dtype; all else is a program. */
  readonly isMove?: true;
  /** True if the program needs whole rows; such tensors are sliced between rows only. */
  needsRows?(formula: Unparsed): boolean;
  /** Returns the reason why a formula cannot be the tensor it is said to be, for plans that come from other programs. */
  refusal?(formula: Unparsed, target: Target): string | undefined;
  /** The formula in words, for people. */
  describe(formula: Worded): string;
  /** The formula in a shard's key; by default its JSON. A change makes every store compute such shards anew. */
  key?(formula: Worded): string;
  /**
   * Appends the formula to a program: reduce, a little scalar arithmetic, map. Statistics are measured of the operands' values.
   *
   * @returns the value, rounded to `dtype`
   * @throws LayerloomError MERGE_UNDEFINED
   */
  lower(formula: Valued, dtype: ArithmeticDtype, to: Lowering): Value | Promise<Value>;
}
