import { superMario, tiesMerging } from '../framework/declaration/papers.js';
import {
  byChance,
  elected,
  type RandomParameters,
  randomSumOf,
  sparseChanges,
} from '../framework/task-vectors.js';
import { tensorMethod } from '../framework/tensors/tensor-method.js';
import type { TensorMethod } from '../framework/tensors/tensor-parameters.js';

/** Parameters of `dare_ties` except models. */
export type DareTiesParameters = RandomParameters;

/** DARE (Yu et al. 2023) with TIES' election: random drops, rescaled, then `ties` without normalisation. */
export const dareTies: TensorMethod<'required', DareTiesParameters, 'weight' | 'density'> = tensorMethod({
  name: 'dare_ties',
  title: 'DARE TIES',
  citations: [superMario, tiesMerging],
  base: 'required',
  shared: randomSumOf(false),
  perModel: sparseChanges,
  expression: (input) => elected(input, byChance),
});
