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
  /** Name in reports: `Gram matrices`. */
  readonly what: string;
  readonly operands: readonly T[];
}

/** A number of a formula that a recipe may vary over layers and modules, for pictures. */
export interface Figure<T> {
  /** Name in recipes: `weight`, `density`, `t`. */
  readonly name: string;
  /** The operand that it belongs to; null if it belongs to the formula. */
  readonly of: T | null;
  readonly value: number;
}

/**
 * Everything the other code knows about a kind of formula. Operands are generic: models' tensors
 * (`ModelTensor`) in methods, byte ranges and nested formulas in plans, words in descriptions, and values of
 * a program when lowered.
 */
export interface Operation<Unparsed, Worded, Valued> {
  /** Structure in a plan's JSON. Operands are `z.unknown()`; check-expression.ts parses them. */
  readonly schema: z.ZodType<Unparsed>;
  /**
   * Replaces each operand by `to(operand)`, called in operand order. Operand types are generic, which
   * index.ts checks.
   */
  readonly map: (formula: never, to: never) => unknown;
  /** Returns the statistics that `lower` measures, each in a pass over its operands. */
  readonly statistics?: (formula: never) => readonly Statistic<unknown>[];
  /**
   * True if elements are copied bit by bit, so that operands must have the output's dtype, which may be any.
   * Otherwise operands are floating, possibly of different dtypes, and the result is rounded once.
   */
  readonly takesBits?: true;
  /** True if the engine moves bytes by a job of its own kind; other formulas become programs. */
  readonly isMove?: true;
  /**
   * True if the engine makes the whole tensor in a task of its own kind. Then it cannot be an operand of
   * other formulas.
   */
  readonly isWhole?: true;
  /**
   * Returns the bytes of private memory, beside a tile, of a thread that makes a tensor of `shape`. Default:
   * 0.
   */
  threadBytes?(formula: Unparsed, shape: Shape): number;
  /** Returns an alternative for recipes that takes less memory; for formulas with `threadBytes`. */
  lighter?(formula: Unparsed): string;
  /** Returns the shape of each operand for a tensor of `shape`. Default: `shape`. */
  operandShapes?(formula: Unparsed, shape: Shape): readonly Shape[];
  /** Returns the number of rows in a group, counted from the first row: slices only end between groups. */
  rowsTogether?(formula: Unparsed): number;
  /** Returns why the formula cannot compute `target`, if so: a plan may come from another program. */
  refusal?(formula: Unparsed, target: Target): string | undefined;
  /** Returns the formula in words. */
  describe(formula: Worded): string;
  /** Returns the formula's numbers that recipes set; `shape` is its result's. Default: empty. */
  figures?(formula: Worded, shape: Shape): readonly Figure<string>[];
  /**
   * Returns the formula's text in a shard's key; default: its JSON. Changing it invalidates such shards in
   * every store.
   */
  key?(formula: Worded): string;
  /**
   * Appends the formula to a program: measures its statistics, computes scalars from them, and appends nodes.
   *
   * @returns the value, rounded to `dtype`
   * @throws LayerloomError MERGE_UNDEFINED
   */
  lower(formula: Valued, dtype: ArithmeticDtype, to: Lowering): Value | Promise<Value>;
}
