import type { Rows } from '../../tensor/rows.js';
import type { StoredTensor } from '../../tensor/stored-tensor.js';
import { sourcesOfOperand } from '../operands.js';
import type { Operand, PlannedInput } from '../plan.js';

/** An expert's difference from the base's tensor. */
export type PlannedDifference =
  /** tensor − base. */
  | { readonly kind: 'tensor'; readonly tensor: Operand }
  /** scale · change; for an adapter on the base's bytes, the base need not be read. */
  | { readonly kind: 'change'; readonly change: Operand; readonly scale: number }
  /** Equal bytes. */
  | { readonly kind: 'none' };

/**
 * A matrix whose differences from the base are summed by row. A 1-D parameter is one row: shape [1, n], rows
 * `output`.
 */
export interface PlannedReduction {
  readonly name: string;
  readonly shape: readonly [number, number];
  readonly rows: Rows;
  /** Null if no expert needs it. */
  readonly base: Operand | null;
  readonly experts: readonly PlannedDifference[];
}

/** With repetitions. */
export const sourcesOfReduction = ({ base, experts }: PlannedReduction): StoredTensor[] => {
  const read = experts.flatMap((expert): Operand[] => {
    if (expert.kind === 'none') return [];
    return [expert.kind === 'tensor' ? expert.tensor : expert.change];
  });
  return [...(base === null ? [] : [base]), ...read].flatMap(sourcesOfOperand);
};

/** The plan of an analysis, in plain JSON. */
export interface ReductionPlan {
  /** The base, then the experts. */
  readonly inputs: readonly PlannedInput[];
  readonly tensors: readonly PlannedReduction[];
  /** True to compare pairs of experts. */
  readonly pairs: boolean;
}

/** Returns [number of rows, parameters in each]. */
export const rowsOf = ({
  shape,
  rows,
}: Pick<PlannedReduction, 'shape' | 'rows'>): readonly [number, number] =>
  rows === 'input' ? [shape[1], shape[0]] : shape;
