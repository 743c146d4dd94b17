import type { Shape } from '../../tensor/reference.js';
import type { StoredTensor } from '../../tensor/stored-tensor.js';
import type { Operand, PlannedInput } from '../plan.js';

export interface PlannedComparison {
  readonly name: string;
  /** Number of elements, or bytes if elements are smaller. */
  readonly elements: number;
  /** Shape in the units of `elements`. */
  readonly shape: Shape;
  readonly sources: readonly [Operand, Operand];
  /** False compares only bits, because the dtype is not floating-point. */
  readonly numbers: boolean;
  /** Rows to compare; absent: all. */
  readonly tiles?: readonly { readonly first: number; readonly count: number }[];
  /** Byte ranges of these tiles; absent: whole sources. */
  readonly reads?: readonly StoredTensor[];
}

export interface ComparisonPlan {
  readonly inputs: readonly PlannedInput[];
  readonly tensors: readonly PlannedComparison[];
}
