import { mergekit, riemannianCenter } from '../framework/declaration/papers.js';
import { numberParameter, type SettingInput } from '../framework/declaration/settings.js';
import { tensorMethod } from '../framework/tensors/tensor-method.js';
import type { TensorMethod } from '../framework/tensors/tensor-parameters.js';
import { mostIterations } from '../operations/program/rules.js';

/** Parameters of `karcher` except models. */
export interface KarcherParameters {
  /** Maximum iterations, at most 10,000. Default 10. */
  maxIter?: SettingInput<number> | undefined;
  /** Iteration ends when a step is this short, in radians; above 0. Default 1e-5. */
  tol?: SettingInput<number> | undefined;
}

/** The Karcher mean of the models' directions on a sphere, times their mean norm (mergekit's `karcher`). */
export const karcher: TensorMethod<'ignored', KarcherParameters> = tensorMethod({
  name: 'karcher',
  title: 'Karcher mean',
  citations: [riemannianCenter, mergekit],
  base: 'ignored',
  shared: {
    maxIter: numberParameter(
      `a whole number, ${mostIterations} at most`,
      (value) => Number.isInteger(value) && value >= 0 && value <= mostIterations,
      10,
    ),
    tol: numberParameter('a number above 0', (value) => value > 0, 1e-5),
  },
  expression: ({ models, shared: { maxIter, tol } }) => {
    const [only] = models;
    if (models.length === 1) return { kind: 'copy', source: only };
    return {
      kind: 'gram',
      rule: 'karcher',
      origin: null,
      sources: models,
      of: 'tensor',
      parameters: { maxIter, tol },
    };
  },
});
