import type { Rows } from '../tensor/rows.js';
import type { StoredTensor } from '../tensor/stored-tensor.js';
import type { PlannedInput } from './plan.js';

/**
 * A matrix whose differences from the base are summed for each row. A 1-D parameter is one row: shape [1, n],
 * rows `output`.
 */
export interface PlannedReduction {
  readonly name: string;
  readonly shape: readonly [number, number];
  readonly rows: Rows;
  /** The base, then the experts. */
  readonly sources: readonly StoredTensor[];
}

/** The plan of an analysis: plain JSON like a merge's plan, with reductions instead of output tensors. */
export interface ReductionPlan {
  /** The base, then the experts. */
  readonly inputs: readonly PlannedInput[];
  readonly tensors: readonly PlannedReduction[];
  /** True if pairs of experts are compared too. */
  readonly pairs: boolean;
}

/** Returns [the number of rows, the parameters in each]. */
export const rowsOf = ({
  shape,
  rows,
}: Pick<PlannedReduction, 'shape' | 'rows'>): readonly [number, number] =>
  rows === 'input' ? [shape[1], shape[0]] : shape;
