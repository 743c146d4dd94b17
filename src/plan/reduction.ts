import type { Rows } from '../tensor/rows.js';
import type { StoredTensor } from '../tensor/stored-tensor.js';
import type { PlannedInput } from './plan.js';

/** A matrix whose differences from the base are summed row by row. A 1-D parameter is one row: [1, n] by `output`. */
export interface PlannedReduction {
  readonly name: string;
  readonly shape: readonly [number, number];
  readonly rows: Rows;
  /** The base, then the experts. */
  readonly sources: readonly StoredTensor[];
}

/** An analysis, decided: plain JSON like a merge's plan, of reductions alone. */
export interface ReductionPlan {
  /** The base, then the experts. */
  readonly inputs: readonly PlannedInput[];
  readonly tensors: readonly PlannedReduction[];
  /** Whether experts are compared with each other too. */
  readonly pairs: boolean;
}

/** How many rows a reduction has, and how many parameters each. */
export const rowsOf = ({
  shape,
  rows,
}: Pick<PlannedReduction, 'shape' | 'rows'>): readonly [number, number] =>
  rows === 'input' ? [shape[1], shape[0]] : shape;
