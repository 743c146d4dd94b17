import { anyNumber } from './framework/settings.js';
import { tensorMethod } from './framework/tensor-method.js';

/**
 * Spherical interpolation between the base (t = 0) and one model (t = 1), tensor by tensor and flattened (Shoemake 1985; mergekit's
 * `slerp`): (sin((1−t)θ)·x₀ + sin(tθ)·x₁) / sin θ, where θ is the angle between the two; linear where |cos θ| > 0.9995.
 */
export const slerp = tensorMethod({
  name: 'slerp',
  title: 'SLERP',
  base: 'required',
  models: { least: 1, most: 1 },
  shared: { t: anyNumber() },
  expression: ({ base = { model: 0 }, models, shared: { t = 0 } }) => ({
    kind: 'gram',
    rule: 'slerp',
    origin: null,
    sources: [base, ...models],
    of: 'tensor',
    parameters: { t },
  }),
});
