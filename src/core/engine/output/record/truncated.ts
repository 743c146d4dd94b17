import { valueAt } from '../../../base/errors/lookup.js';
import { rankOf } from '../../../plan/operands.js';
import type { MergePlan } from '../../../plan/plan.js';
import type { Factors } from '../../compute/measures/factorise.js';

/** A sum of adapter products, truncated to a lower rank. */
export interface TruncatedProduct {
  /** The parameter of the base that it changes. */
  readonly parameter: string;
  /** Layer; null outside the layers. */
  readonly layer: number | null;
  /** Rank after truncation. `exactRank` is the rank of the exact sum, or the matrix's full rank. */
  readonly rank: number;
  readonly exactRank: number;
  /** ‖Δ‖_F of the exact sum. */
  readonly norm: number;
  /** ‖Δ − B·A‖_F / ‖Δ‖_F for the written factors; 0 if Δ is 0. */
  readonly error: number;
}

export const describeTruncated = (
  plan: MergePlan,
  factors: ReadonlyMap<string, Factors>,
): readonly TruncatedProduct[] =>
  plan.shards.flatMap(({ tensors }) =>
    tensors.flatMap(({ layer, shape: [rank = 0], expression }): TruncatedProduct[] => {
      if (expression.kind !== 'factor' || expression.side !== 'right') return [];
      const { of, terms, shape: matrix } = expression;
      const { squares, error } = valueAt(factors, of);
      const exactRank = terms.reduce(
        (total, { source }) => total + (rankOf(source) ?? Math.min(...matrix)),
        0,
      );
      return [
        {
          parameter: of,
          layer,
          rank,
          exactRank,
          norm: Math.sqrt(squares),
          error: squares === 0 ? 0 : Math.sqrt(error / squares),
        },
      ];
    }),
  );
