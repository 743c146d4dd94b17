import type { AdapterKind, PlacedFactors } from './kind.js';

/** W + s·B·A with `a` [rank, in] and `b` [out, rank]; if `transposed`, W + s·(B·A)ᵀ. */
export interface LowRankChange extends Omit<PlacedFactors, 'beside'> {
  readonly kind: 'lowRank';
}

export const lora: AdapterKind<LowRankChange> = {
  change: ({ a, b, rank, scale, transposed, experts }) => ({
    ...{ kind: 'lowRank', a, b, rank, scale, transposed, experts },
  }),
};
