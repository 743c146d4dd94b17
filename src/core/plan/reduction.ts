import type { Rows } from '../tensor/rows.js';
import type { StoredTensor } from '../tensor/stored-tensor.js';
import { sourcesOfOperand } from './operands.js';
import type { Operand, PlannedInput } from './plan.js';

/** How an expert's tensor differs from the base's. */
export type PlannedDifference =
  /** By its values: x − base. */
  | { readonly kind: 'tensor'; readonly tensor: Operand }
  /** By a change that its adapter makes of the base's own bytes: scale · change. The base is not read for it. */
  | { readonly kind: 'change'; readonly change: Operand; readonly scale: number }
  /** Not at all: it is the same bytes. */
  | { readonly kind: 'none' };

/**
 * A matrix whose differences from the base are summed for each row. A 1-D parameter is one row: shape [1, n],
 * rows `output`.
 */
export interface PlannedReduction {
  readonly name: string;
  readonly shape: readonly [number, number];
  readonly rows: Rows;
  /** The base's tensor; null where no difference is taken from it. */
  readonly base: Operand | null;
  readonly experts: readonly PlannedDifference[];
  /** True if the base's magnitudes and the pairs of experts are measured too. */
  readonly isSampled?: boolean;
}

/** Returns the byte ranges that a reduction reads; those read twice stand twice. */
export const sourcesOfReduction = ({ base, experts }: PlannedReduction): StoredTensor[] => {
  const read = experts.flatMap((expert): Operand[] => {
    if (expert.kind === 'none') return [];
    return [expert.kind === 'tensor' ? expert.tensor : expert.change];
  });
  return [...(base === null ? [] : [base]), ...read].flatMap(sourcesOfOperand);
};

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
