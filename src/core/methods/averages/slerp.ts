import { quaternionCurves } from '../framework/declaration/papers.js';
import { anyNumber, type SettingInput } from '../framework/declaration/settings.js';
import { tensorMethod } from '../framework/tensors/tensor-method.js';
import type { TensorMethod } from '../framework/tensors/tensor-parameters.js';

/** Parameters of `slerp` except models. */
export interface SlerpParameters {
  /** Position between the base (0) and the model (1): any number. Required. */
  t: SettingInput<number>;
}

/**
 * Spherical interpolation of flattened tensors (Shoemake 1985; mergekit's `slerp`): (sin((1−t)θ)·x₀ +
 * sin(tθ)·x₁) / sin θ with the angle θ between base x₀ and model x₁. Linear if |cos θ| > 0.9995.
 */
export const slerp: TensorMethod<'required', SlerpParameters> = tensorMethod({
  name: 'slerp',
  title: 'SLERP',
  citations: [quaternionCurves],
  base: 'required',
  startsFromBase: true,
  models: { least: 1, most: 1 },
  shared: { t: anyNumber() },
  expression: ({ base, models, shared: { t } }) => ({
    kind: 'gram',
    rule: 'slerp',
    origin: null,
    sources: [base, ...models],
    of: 'tensor',
    parameters: { t },
  }),
});
