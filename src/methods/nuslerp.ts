import { anyNumber, flag } from './framework/settings.js';
import { tensorMethod } from './framework/tensor-method.js';

/**
 * Spherical interpolation of two models with t = w₁ / (w₀ + w₁), or of their task vectors where a base is given (mergekit's `nuslerp`).
 * `nuslerp_flatten: false` takes each row by itself, along the last dimension, or with `nuslerp_row_wise` along dimension 0.
 */
export const nuslerp = tensorMethod({
  name: 'nuslerp',
  title: 'NuSLERP',
  base: 'optional',
  models: { least: 2, most: 2 },
  shared: { nuslerpFlatten: flag(true), nuslerpRowWise: flag(false) },
  perModel: { weight: anyNumber() },
  expression: ({ base, models, perModel, shared }) => {
    const [first = 0, second = 0] = perModel.map(({ weight }) => Number(weight));
    const total = first + second;
    return {
      kind: 'gram',
      rule: 'nuslerp',
      origin: base ?? null,
      sources: models,
      of:
        shared['nuslerpFlatten'] === true ? 'tensor' : shared['nuslerpRowWise'] === true ? 'input' : 'output',
      parameters: { t: Math.abs(total) < 1e-6 ? 0.5 : second / total },
    };
  },
});
