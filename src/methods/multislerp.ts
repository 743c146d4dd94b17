import { anyNumber, flag, numberParameter } from './framework/settings.js';
import { tensorMethod } from './framework/tensor-method.js';

/**
 * Barycentric interpolation of any number of models on a sphere (Goddard 2025; mergekit's `multislerp`): directions are taken to the
 * tangent space at their weighted mean, averaged there and brought back, at the weighted mean of the norms. With a base, of task vectors.
 */
export const multislerp = tensorMethod({
  name: 'multislerp',
  title: 'Multi-SLERP',
  base: 'optional',
  shared: {
    normalizeWeights: flag(true),
    eps: numberParameter('a number above 0', (value) => value > 0, 1e-8),
  },
  perModel: { weight: anyNumber() },
  expression: ({ base, models, perModel, shared: { normalizeWeights = true, eps = 1e-8 } }) => {
    const [only] = models;
    if (models.length === 1 && only !== undefined) return { kind: 'copy', source: only };
    return {
      kind: 'gram',
      rule: 'multislerp',
      origin: base ?? null,
      sources: models,
      of: 'tensor',
      parameters: { weights: perModel.map(({ weight }) => Number(weight)), normalizeWeights, eps },
    };
  },
});
