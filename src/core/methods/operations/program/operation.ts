import type { z } from 'zod';
import type { ArithmeticDtype, Dtype } from '../../../tensor/dtype.js';
import type { Shape } from '../../../tensor/reference.js';
import type { Lowering } from './lowering.js';
import type { Value } from './program.js';

export interface Target {
  readonly name: string;
  readonly dtype: Dtype;
  readonly shape: Shape;
}

/** A statistic of whole tensors, measured in a pass over the operands. */
export interface Statistic<T> {
  readonly what: string;
  readonly operands: readonly T[];
}

/** A number that a recipe may vary over layers and modules, for pictures. */
export interface Figure<T> {
  readonly name: string;
  /** Null for the whole formula. */
  readonly of: T | null;
  readonly value: number;
}

/**
 * Everything the other code knows about a kind of formula. Operands are models' tensors in methods, byte
 * ranges and nested formulas in plans, words in descriptions, and values of a program when lowered.
 */
export interface Operation<Unparsed, Worded, Valued> {
  /** Structure in a plan's JSON; check-expression.ts parses operands. */
  readonly schema: z.ZodType<Unparsed>;
  /** Replaces each operand by `to(operand)`, in order. index.ts declares the generic types. */
  readonly map: (formula: never, to: never) => unknown;
  readonly statistics?: (formula: never) => readonly Statistic<unknown>[];
  /**
   * True if elements are copied bit by bit: operands must have the output's dtype, which may be any.
   * Otherwise operands are floating, and the result is rounded once.
   */
  readonly takesBits?: true;
  /** True if a job of its own kind moves the bytes. */
  readonly isMove?: true;
  /** True if a solver makes the whole tensor, which then cannot be an operand. */
  readonly isWhole?: true;
  /** Bytes of private memory, beside a tile, of a thread that makes the tensor. Default: 0. */
  threadBytes?(formula: Unparsed, shape: Shape): number;
  /** An alternative for recipes that takes less memory. */
  lighter?(formula: Unparsed): string;
  operandShapes?(formula: Unparsed, shape: Shape): readonly Shape[];
  /** Rows in a group, from the first row on: slices end between groups. */
  rowsTogether?(formula: Unparsed): number;
  /** Why the formula cannot compute `target`, if so: a plan may come from another program. */
  refusal?(formula: Unparsed, target: Target): string | undefined;
  describe(formula: Worded): string;
  /** Numbers that recipes set; `shape` is the result's. Default: empty. */
  figures?(formula: Worded, shape: Shape): readonly Figure<string>[];
  /** The text in a shard's key; default: JSON. A change invalidates such shards in every store. */
  key?(formula: Worded): string;
  /**
   * Measures the formula's statistics, computes scalars from them, and appends nodes.
   *
   * @returns the value, rounded to `dtype`
   * @throws LayerloomError MERGE_UNDEFINED
   */
  lower(formula: Valued, dtype: ArithmeticDtype, to: Lowering): Value | Promise<Value>;
}

/** Parts of an operation whose tensors a solver makes (`src/core/native/solve.ts`). */
export const madeWhole = {
  isWhole: true,
  lower: (): Value => {
    throw new Error('a solver makes this tensor, and not a program');
  },
} as const;
