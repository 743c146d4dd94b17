import { valueAt } from '../../base/lookup.js';
import { rankOf } from '../../plan/operands.js';
import type { MergePlan } from '../../plan/plan.js';
import type { Factors } from '../compute/factorise.js';

/** A sum of an adapter's products, truncated to a lower rank: in `layerloom.json` and in results. */
export interface TruncatedProduct {
  /** The parameter of the base that it changes. */
  readonly parameter: string;
  /** Layer number, or null outside the layers. */
  readonly layer: number | null;
  /** Its rank, and that of the exact sum's factors; of a formula that is no sum of products, the most that a matrix of its shape has. */
  readonly rank: number;
  readonly exactRank: number;
  /** ‖Δ‖_F of the exact sum. */
  readonly norm: number;
  /** ‖Δ − B·A‖_F / ‖Δ‖_F, of the factors as they are written; 0 where Δ is 0. */
  readonly error: number;
}

/** Describes the truncated sums of a plan, in its order, by the numbers of their factors. */
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
