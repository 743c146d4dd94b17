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

/** A statistic of whole tensors, measured in one pass. */
export interface Statistic<T> {
  readonly what: string;
  readonly operands: readonly T[];
}

/** A number that recipes may vary over layers and modules, for charts. */
export interface Figure<T> {
  readonly name: string;
  /** The operand that the number belongs to; null for the whole formula. */
  readonly of: T | null;
  readonly value: number;
}

/**
 * Defines a kind of formula. Operands are models' tensors in methods, byte ranges and nested formulas in
 * plans, words in descriptions, and values of a program in `lower`.
 */
export interface Operation<Unparsed, Worded, Valued> {
  /** Schema of the plan's JSON; check-expression.ts parses operands. */
  readonly schema: z.ZodType<Unparsed>;
  /** Replaces operands in order; index.ts declares the generic types. */
  readonly map: (formula: never, to: never) => unknown;
  readonly statistics?: (formula: never) => readonly Statistic<unknown>[];
  /**
   * True if bits are copied; then operands have the output's dtype, whatever it is. Otherwise operands are
   * floating-point, and the result is rounded once.
   */
  readonly takesBits?: true;
  /** True if a separate kind of job moves the bytes. */
  readonly isMove?: true;
  /** True if a solver makes the whole tensor, which then cannot be an operand. */
  readonly isWhole?: true;
  /** True if random numbers select elements. */
  draws?(formula: Unparsed): boolean;
  /** Bytes that a thread needs beyond its tile; default 0. */
  threadBytes?(formula: Unparsed, shape: Shape): number;
  lighter?(formula: Unparsed): string;
  operandShapes?(formula: Unparsed, shape: Shape): readonly Shape[];
  /** Number of rows in a group that slices must not divide; default: no groups. */
  rowsTogether?(formula: Unparsed): number;
  /** Returns why the formula cannot compute `target`; checked because plans may come from other programs. */
  refusal?(formula: Unparsed, target: Target): string | undefined;
  describe(formula: Worded): string;
  /** Numbers as set in recipes; `shape` is the result's. */
  figures?(formula: Worded, shape: Shape): readonly Figure<string>[];
  /** Text for shard keys; default: JSON. Changes invalidate the operation's shards in every store. */
  key?(formula: Worded): string;
  /**
   * Measures statistics, computes scalars from them, and appends nodes to the program.
   *
   * @returns the value, rounded to `dtype`
   * @throws MERGE_UNDEFINED
   */
  lower(formula: Valued, dtype: ArithmeticDtype, to: Lowering): Value | Promise<Value>;
}

/** Properties of operations whose tensors a solver makes (`src/core/native/solve.ts`). */
export const madeWhole = {
  isWhole: true,
  lower: (): Value => {
    throw new Error('a solver makes this tensor, and not a program');
  },
} as const;
