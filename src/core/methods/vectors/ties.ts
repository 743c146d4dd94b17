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

export type TiesParameters = SparseParameters;

/**
 * TIES (Yadav et al. 2023): keeps the `density` share of largest magnitude of each task vector, and of it the
 * elements with the sign of their weighted sum; adds their sum, divided by the weights that count, to the
 * base.
 *
 * - `dialect: mergekit` (default): keeps ⌊density·n⌋ elements of each tensor, at least 1; ties go to the
 *   lowest index.
 * - `paper`, the authors' code: the threshold is the whole model's, and elements equal to it stay. Unweighted
 *   election; mean over the models that count; `weight` is not used. If changes cancel, the sign is that of
 *   the sum of all elements' signs in the model; if this is 0, negative changes are kept.
 * - `peft`: like mergekit, but ⌊density·n⌋ may be 0, the election is unweighted, and the divisor is the
 *   number of models that count.
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
        // The authors keep negative changes unless the majority is positive.
        return counted(base, terms, majoritySign > 0 ? 'positive' : 'negative', shared.lambda);
      }
      return dialect === 'peft'
        ? counted(base, changesOf(input, byMagnitude(0)), 'positive', shared.lambda)
        : elected(input, byMagnitude(1));
    },
  });

/** The unweighted mean over the models with the elected sign. */
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
