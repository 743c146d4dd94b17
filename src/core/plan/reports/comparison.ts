import type { Shape } from '../../tensor/reference.js';
import type { Operand, PlannedInput } from '../plan.js';

export interface PlannedComparison {
  readonly name: string;
  /** In bytes, if elements are smaller than a byte. */
  readonly elements: number;
  /** The shape; counts elements or bytes, like `elements`. */
  readonly shape: Shape;
  readonly sources: readonly [Operand, Operand];
  /** False to compare bits only, for dtypes that are not floating-point. */
  readonly numbers: boolean;
}

/** Plain JSON. */
export interface ComparisonPlan {
  readonly inputs: readonly [PlannedInput, PlannedInput];
  readonly tensors: readonly PlannedComparison[];
}
