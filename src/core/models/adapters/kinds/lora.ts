import type { TensorReference } from '../../../tensor/reference.js';
import type { AdapterKind, ExpertRows } from './kind.js';

/** W + s · B · A with `a` [rank, in] and `b` [out, rank]; if `transposed`, W + s · (B · A)ᵀ. */
export interface LowRankChange {
  readonly kind: 'lowRank';
  readonly a: TensorReference;
  readonly b: TensorReference;
  readonly rank: number;
  readonly scale: number;
  readonly transposed: boolean;
  readonly experts?: ExpertRows | undefined;
}

export const lora: AdapterKind<LowRankChange> = {
  change: ({ a, b, rank, scale, transposed, experts }) => ({
    kind: 'lowRank',
    a,
    b,
    rank,
    scale,
    transposed,
    experts,
  }),
};
