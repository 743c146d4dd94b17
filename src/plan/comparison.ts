import type { StoredTensor } from '../tensor/stored-tensor.js';
import type { PlannedInput } from './plan.js';

/** A tensor that two models have in one shape. */
export interface PlannedComparison {
  readonly name: string;
  /** Bytes, where elements are of less than one. */
  readonly elements: number;
  /** In the first model and in the second. */
  readonly sources: readonly [StoredTensor, StoredTensor];
  /** False where bits alone are compared: of dtypes that are not floating. */
  readonly numbers: boolean;
}

/** The plan of a comparison of two models: plain JSON like a merge's. */
export interface ComparisonPlan {
  readonly inputs: readonly [PlannedInput, PlannedInput];
  readonly tensors: readonly PlannedComparison[];
}
