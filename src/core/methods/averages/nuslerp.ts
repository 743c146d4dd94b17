import { mergekit } from '../framework/declaration/papers.js';
import { anyNumber, flag, type SettingInput } from '../framework/declaration/settings.js';
import { tensorMethod } from '../framework/tensors/tensor-method.js';
import type { TensorMethod } from '../framework/tensors/tensor-parameters.js';

/** Parameters of `nuslerp` except models. */
export interface NuslerpParameters {
  /** Weight of a model. t is the second weight divided by the sum of both, or 0.5 if the sum is 0. */
  weight?: SettingInput<number> | undefined;
  /** Interpolate the tensor as a whole, not by rows. Default true. */
  nuslerpFlatten?: SettingInput<boolean> | undefined;
  /** With `nuslerpFlatten: false`: take rows along dimension 0, not the last. Default false. */
  nuslerpRowWise?: SettingInput<boolean> | undefined;
}

/** Spherical interpolation of two models or task vectors, t = w₁/(w₀ + w₁) (mergekit's `nuslerp`). */
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
