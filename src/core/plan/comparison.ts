import type { Shape } from '../tensor/reference.js';
import type { Operand, PlannedInput } from './plan.js';

/** A tensor that both models have in the same shape. */
export interface PlannedComparison {
  readonly name: string;
  /** Number of elements; of bytes if elements are smaller than a byte. */
  readonly elements: number;
  /** In elements or bytes, as `elements`. */
  readonly shape: Shape;
  /** From the first and the second model. */
  readonly sources: readonly [Operand, Operand];
  /** False if only bits are compared: the dtypes are not floating-point. */
  readonly numbers: boolean;
}

/** The plan of a comparison of two models; plain JSON. */
export interface ComparisonPlan {
  readonly inputs: readonly [PlannedInput, PlannedInput];
  readonly tensors: readonly PlannedComparison[];
}
