import { itemAt } from '../../base/lookup.js';
import { tiesMerging } from '../framework/papers.js';
import {
  byMagnitude,
  changesOf,
  elected,
  type SparseParameters,
  sparseChanges,
  sparseSumOf,
} from '../framework/task-vectors.js';
import { tensorMethod } from '../framework/tensors/tensor-method.js';
import type { TensorMethod } from '../framework/tensors/tensor-parameters.js';
import type { Consensus } from '../operations/consensus.js';
import type { Expression, ModelTensor } from '../operations/expression.js';

/** Parameters of `ties` besides its models. */
export type TiesParameters = SparseParameters;

/**
 * TIES (Yadav et al. 2023): of each task vector the `density` share of largest magnitude, and of those what
 * has the sign of their weighted sum; summed, divided by the weights that count, and added to the base.
 *
 * `dialect: mergekit` (default): ⌊density·n⌋ of each tensor, 1 at least, of equal magnitudes those with the
 * lowest index; weighted election. `paper`, the authors' code: the threshold is the whole model's and what
 * equals it stays; unweighted election; mean over the models that count; `weight` is not used. Where changes
 * cancel, the sign is the whole model's majority: that of the sum of all elements' signs. A majority of 0 is
 * no sign, and there the authors keep the negative changes. `peft`: as mergekit, but ⌊density·n⌋ may be 0 and
 * the election is unweighted; divided by how many models count.
 */
export const ties: TensorMethod<'required', TiesParameters, 'weight' | 'density', 'paper' | 'peft'> =
  tensorMethod({
    name: 'ties',
    title: 'TIES',
    citations: [tiesMerging],
    base: 'required',
    shared: sparseSumOf(true, false),
    perModel: sparseChanges,
    dialects: ['paper', 'peft'],
    statistics: ({ base, models, dialect, constant }) =>
      dialect === 'paper'
        ? {
            base,
            experts: models,
            what: { kind: 'thresholds', densities: models.map((_, index) => constant(index, 'density')) },
          }
        : undefined,
    expression: (input, dialect) => {
      const { base, models, shared, thresholds, majoritySign } = input;
      if (dialect === 'paper') {
        const terms = models.map((source, index) => ({
          source,
          weight: 1,
          pruning: {
            sparsifier: { by: 'threshold' as const, atLeast: itemAt(thresholds, index) },
            rescale: null,
          },
        }));
        // The authors keep negative changes wherever the sign is not above 0.
        return counted(base, terms, majoritySign > 0 ? 'positive' : 'negative', shared.lambda);
      }
      return dialect === 'peft'
        ? counted(base, changesOf(input, byMagnitude(0)), 'positive', shared.lambda)
        : elected(input, byMagnitude(1));
    },
  });

/** The mean over the models whose sign is elected, weights aside. */
const counted = (
  base: ModelTensor,
  terms: Consensus<ModelTensor>['terms'],
  tie: 'positive' | 'negative',
  scale: number,
): Expression => ({
  kind: 'consensus',
  base,
  terms,
  election: { weighted: false, tie },
  divisor: 'count',
  scale,
});
