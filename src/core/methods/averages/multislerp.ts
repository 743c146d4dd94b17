import { mergekit } from '../framework/papers.js';
import { anyNumber, flag, numberParameter, type SettingInput } from '../framework/settings.js';
import { tensorMethod } from '../framework/tensors/tensor-method.js';
import type { TensorMethod } from '../framework/tensors/tensor-parameters.js';

/** Parameters of `multislerp` besides its models. */
export interface MultislerpParameters {
  /** Weight of a model. No default: each model needs one, here, of its own, or in `weights`. */
  weight?: SettingInput<number> | undefined;
  /** Divide the weights by their sum. Default true. */
  normalizeWeights?: SettingInput<boolean> | undefined;
  /** Added to norms that are divided by: above 0. Default 1e-8. */
  eps?: SettingInput<number> | undefined;
}

/**
 * Barycentric interpolation of any number of models on a sphere (Goddard 2025; mergekit's `multislerp`):
 * directions are taken to the tangent space at their weighted mean, averaged there and brought back, at the
 * weighted mean of the norms. With a base, of task vectors.
 */
export const multislerp: TensorMethod<'optional', MultislerpParameters, 'weight'> = tensorMethod({
  name: 'multislerp',
  title: 'Multi-SLERP',
  citations: [mergekit],
  base: 'optional',
  shared: {
    normalizeWeights: flag(true),
    eps: numberParameter('a number above 0', (value) => value > 0, 1e-8),
  },
  perModel: { weight: anyNumber() },
  expression: ({ base, models, perModel, shared: { normalizeWeights, eps } }) => {
    const [only] = models;
    if (models.length === 1) return { kind: 'copy', source: only };
    return {
      kind: 'gram',
      rule: 'multislerp',
      origin: base ?? null,
      sources: models,
      of: 'tensor',
      parameters: { weights: perModel.map(({ weight }) => weight), normalizeWeights, eps },
    };
  },
});
