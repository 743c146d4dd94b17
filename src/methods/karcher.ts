import { mostIterations } from '../operations/rules.js';
import { numberParameter } from './framework/settings.js';
import { tensorMethod } from './framework/tensor-method.js';

/**
 * The Riemannian (Karcher) mean of the models' directions on a sphere, by iteration of logarithm and exponential maps, times the mean
 * norm (mergekit's `karcher`).
 */
export const karcher = tensorMethod({
  name: 'karcher',
  title: 'Karcher mean',
  base: 'ignored',
  shared: {
    maxIter: numberParameter(
      `a whole number, ${mostIterations} at most`,
      (value) => Number.isInteger(value) && value >= 0 && value <= mostIterations,
      10,
    ),
    tol: numberParameter('a number above 0', (value) => value > 0, 1e-5),
  },
  expression: ({ models, shared: { maxIter = 10, tol = 1e-5 } }) => {
    const [only] = models;
    if (models.length === 1 && only !== undefined) return { kind: 'copy', source: only };
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
