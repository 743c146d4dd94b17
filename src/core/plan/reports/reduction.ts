import type { Rows } from '../../tensor/rows.js';
import type { StoredTensor } from '../../tensor/stored-tensor.js';
import { sourcesOfOperand } from '../operands.js';
import type { Operand, PlannedInput } from '../plan.js';

export type PlannedDifference =
  | { readonly kind: 'tensor'; readonly tensor: Operand }
  /** An adapter's `scale`·`change` to the base's own bytes, which need not be read. */
  | { readonly kind: 'change'; readonly change: Operand; readonly scale: number }
  /** The expert's bytes equal the base's. */
  | { readonly kind: 'none' };

/** Sums of differences by row. A 1-D parameter counts as one row, [1, n]. */
export interface PlannedReduction {
  readonly name: string;
  readonly shape: readonly [number, number];
  readonly rows: Rows;
  readonly base: Operand | null;
  readonly experts: readonly PlannedDifference[];
}

/** Returns the byte ranges to read, repeated. */
export const sourcesOfReduction = ({ base, experts }: PlannedReduction): StoredTensor[] => {
  const read = experts.flatMap((expert): Operand[] => {
    if (expert.kind === 'none') return [];
    return [expert.kind === 'tensor' ? expert.tensor : expert.change];
  });
  return [...(base === null ? [] : [base]), ...read].flatMap(sourcesOfOperand);
};

export interface ReductionPlan {
  /** The base, then the experts. */
  readonly inputs: readonly PlannedInput[];
  readonly tensors: readonly PlannedReduction[];
  readonly pairs: boolean;
}

/** Returns rows, with the number of parameters in each. */
export const rowsOf = ({
  shape,
  rows,
}: Pick<PlannedReduction, 'shape' | 'rows'>): readonly [number, number] =>
  rows === 'input' ? [shape[1], shape[0]] : shape;
