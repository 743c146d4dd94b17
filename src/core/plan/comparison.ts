import type { Shape } from '../tensor/reference.js';
import type { Operand, PlannedInput } from './plan.js';

/** A tensor that two models have in one shape. */
export interface PlannedComparison {
  readonly name: string;
  /** Bytes, where elements are of less than one. */
  readonly elements: number;
  /** Extents, of elements or of bytes. */
  readonly shape: Shape;
  /** In the first model and in the second. */
  readonly sources: readonly [Operand, Operand];
  /** False where bits alone are compared: of dtypes that are not floating. */
  readonly numbers: boolean;
}

/** The plan of a comparison of two models: plain JSON like a merge's. */
export interface ComparisonPlan {
  readonly inputs: readonly [PlannedInput, PlannedInput];
  readonly tensors: readonly PlannedComparison[];
}
