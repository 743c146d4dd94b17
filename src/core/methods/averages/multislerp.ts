import { mergekit } from '../framework/declaration/papers.js';
import { anyNumber, flag, numberParameter, type SettingInput } from '../framework/declaration/settings.js';
import { tensorMethod } from '../framework/tensors/tensor-method.js';
import type { TensorMethod } from '../framework/tensors/tensor-parameters.js';

/** Parameters of `multislerp` except models. */
export interface MultislerpParameters {
  /** Weight of a model that has none in its entry or in `weights`; one of these is required. */
  weight?: SettingInput<number> | undefined;
  /** Divide the weights by their sum. Default true. */
  normalizeWeights?: SettingInput<boolean> | undefined;
  /** Added to norms before dividing by them. Default 1e-8. */
  eps?: SettingInput<number> | undefined;
}

/** Barycentric interpolation on a sphere, of models or task vectors (Goddard 2025; `multislerp`). */
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
