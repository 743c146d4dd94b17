import type { z } from 'zod';
import type { ArithmeticDtype, Dtype } from '../../tensor/dtype.js';
import type { Shape } from '../../tensor/reference.js';
import type { Lowering } from './lowering.js';
import type { Value } from './program.js';

/** The output tensor that a plan says a formula computes. */
export interface Target {
  readonly name: string;
  readonly dtype: Dtype;
  readonly shape: Shape;
}

/** A statistic of whole tensors, measured in a pass over these operands before the tensor is computed. */
export interface Statistic<T> {
  /** Its name in reports: `Gram matrices`. */
  readonly what: string;
  readonly operands: readonly T[];
}

/** A number of a formula that a recipe may vary over layers and modules, for pictures. */
export interface Figure<T> {
  /** Its name in recipes: `weight`, `density`, `t`. */
  readonly name: string;
  /** The operand that it belongs to; null if it is the whole formula's. */
  readonly of: T | null;
  readonly value: number;
}

/**
 * Everything the rest of the tree knows about one kind of formula. A formula is generic in its operands:
 * models' tensors (`ModelTensor`) as a method writes it, byte ranges and nested formulas in a plan, words
 * when it is described, and values of a program when it is lowered.
 */
export interface Operation<Unparsed, Worded, Valued> {
  /**
   * The formula's structure in a plan's JSON. Operands are `z.unknown()` here and parsed by
   * check-expression.ts.
   */
  readonly schema: z.ZodType<Unparsed>;
  /**
   * Returns the formula with each operand replaced by `to(operand)`, calling `to` in operand order. The types
   * of both operands are generic, which index.ts checks.
   */
  readonly map: (formula: never, to: never) => unknown;
  /** Returns the statistics that `lower` measures, each in one pass over its operands. */
  readonly statistics?: (formula: never) => readonly Statistic<unknown>[];
  /**
   * True if elements are taken bit by bit, so that operands must have the output's dtype, which may be any.
   * Otherwise operands are floating numbers, which may differ in dtype, and the result is rounded once.
   */
  readonly takesBits?: true;
  /**
   * True if the engine moves bytes without interpreting them, by a job of its own kind; other formulas become
   * programs.
   */
  readonly isMove?: true;
  /**
   * True if the engine makes the whole tensor in one task, by a job of its own kind: then it is no operand of other formulas,
   * which are programs.
   */
  readonly isWhole?: true;
  /** Returns the private memory in bytes, beside a tile, of the thread that makes a tensor of `shape`. Default: 0. */
  threadBytes?(formula: Unparsed, shape: Shape): number;
  /** Returns what a recipe would use instead to take less memory; of formulas with `threadBytes`. */
  lighter?(formula: Unparsed): string;
  /** Returns the shape of each operand of a tensor of `shape`, in operand order. Default: `shape`. */
  operandShapes?(formula: Unparsed, shape: Shape): readonly Shape[];
  /** Returns how many rows the program needs together, from the first on: the tensor is sliced between those only. */
  rowsTogether?(formula: Unparsed): number;
  /**
   * Returns the reason why the formula cannot compute `target`, if there is one: a plan may come from another
   * program.
   */
  refusal?(formula: Unparsed, target: Target): string | undefined;
  /** Returns the formula in words, for people to read. */
  describe(formula: Worded): string;
  /** Returns the formula's numbers; `shape` is its result's. None if it has no numbers that recipes set. */
  figures?(formula: Worded, shape: Shape): readonly Figure<string>[];
  /**
   * Returns the formula's text in a shard's key; its JSON by default. A change invalidates such shards in
   * every store.
   */
  key?(formula: Worded): string;
  /**
   * Appends the formula to a program: measures the statistics it needs over its operands' values, computes
   * scalars from them, and appends the nodes that map elements.
   *
   * @returns the value, rounded to `dtype`
   * @throws LayerloomError MERGE_UNDEFINED
   */
  lower(formula: Valued, dtype: ArithmeticDtype, to: Lowering): Value | Promise<Value>;
}
