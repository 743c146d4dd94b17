import type { Shape } from '../../tensor/reference.js';
import type { StoredTensor } from '../../tensor/stored-tensor.js';
import type { Operand, PlannedInput } from '../plan.js';

export interface PlannedComparison {
  readonly name: string;
  /** Number of elements; of bytes, if elements are smaller than a byte. */
  readonly elements: number;
  /** The shape, in elements or bytes like `elements`. */
  readonly shape: Shape;
  readonly sources: readonly [Operand, Operand];
  /** False to compare bits only, for dtypes that are not floating-point. */
  readonly numbers: boolean;
  /** Ranges of elements to compare, whole rows; absent: all. */
  readonly tiles?: readonly { readonly first: number; readonly count: number }[];
  /** The bytes that the tiles need; absent: all of the sources. */
  readonly reads?: readonly StoredTensor[];
}

/** The plan of a comparison, in plain JSON. */
export interface ComparisonPlan {
  readonly inputs: readonly PlannedInput[];
  readonly tensors: readonly PlannedComparison[];
}
