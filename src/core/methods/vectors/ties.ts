import { itemAt } from '../../base/errors/lookup.js';
import { tiesMerging } from '../framework/declaration/papers.js';
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
import type { Expression, ModelTensor } from '../operations/expression.js';
import type { Consensus } from '../operations/votes/consensus.js';

/** Parameters of `ties` except models. */
export type TiesParameters = SparseParameters;

/**
 * TIES (Yadav et al. 2023): keeps the `density` share of largest magnitudes in each task vector. At each
 * element, keeps changes with the sign of their weighted sum and adds their weighted mean to the base.
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
        // The authors' code keeps negative changes unless the majority is positive.
        return counted(base, terms, majoritySign > 0 ? 'positive' : 'negative', shared.lambda);
      }
      return dialect === 'peft'
        ? counted(base, changesOf(input, byMagnitude(0)), 'positive', shared.lambda)
        : elected(input, byMagnitude(1));
    },
  });

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
