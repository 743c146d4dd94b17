import { mergekit } from '../framework/papers.js';
import { anyNumber, flag, type SettingInput } from '../framework/settings.js';
import { tensorMethod } from '../framework/tensors/tensor-method.js';
import type { TensorMethod } from '../framework/tensors/tensor-parameters.js';

export interface NuslerpParameters {
  /** A model's weight, required for both. t is the second's share of the sum, or 0.5 if the sum is 0. */
  weight?: SettingInput<number> | undefined;
  /** True: the whole tensor; false: each row separately. Default true. */
  nuslerpFlatten?: SettingInput<boolean> | undefined;
  /** With `nuslerpFlatten: false`. True: rows along dimension 0; false: along the last one. Default false. */
  nuslerpRowWise?: SettingInput<boolean> | undefined;
}

/**
 * Spherical interpolation of two models with t = w₁ / (w₀ + w₁), or of their task vectors if a base is given
 * (mergekit's `nuslerp`). `nuslerp_flatten: false` interpolates each row along the last dimension, or with
 * `nuslerp_row_wise` along dimension 0.
 */
export const nuslerp: TensorMethod<'optional', NuslerpParameters, 'weight'> = tensorMethod({
  name: 'nuslerp',
  title: 'NuSLERP',
  citations: [mergekit],
  base: 'optional',
  models: { least: 2, most: 2 },
  shared: { nuslerpFlatten: flag(true), nuslerpRowWise: flag(false) },
  perModel: { weight: anyNumber() },
  expression: ({ base, models, perModel: [first, second], shared }) => {
    const total = first.weight + second.weight;
    return {
      kind: 'gram',
      rule: 'nuslerp',
      origin: base ?? null,
      sources: models,
      of: shared.nuslerpFlatten ? 'tensor' : shared.nuslerpRowWise ? 'input' : 'output',
      parameters: { t: Math.abs(total) < 1e-6 ? 0.5 : second.weight / total },
    };
  },
});
