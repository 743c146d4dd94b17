import type { TensorReference } from '../../../tensor/reference.js';
import type { AdapterKind } from './kind.js';

/** W + s · B · A, `a` [rank, in] and `b` [out, rank]; or of the transpose of the product. */
export interface LowRankChange {
  readonly kind: 'lowRank';
  readonly a: TensorReference;
  readonly b: TensorReference;
  readonly rank: number;
  readonly scale: number;
  readonly transposed: boolean;
}

export const lora: AdapterKind<LowRankChange> = {
  change: ({ a, b, rank, scale, transposed }) => ({ kind: 'lowRank', a, b, rank, scale, transposed }),
};
