import { mergekit } from '../framework/declaration/papers.js';
import { anyNumber, type SettingInput } from '../framework/declaration/settings.js';
import { tensorMethod } from '../framework/tensors/tensor-method.js';
import type { TensorMethod } from '../framework/tensors/tensor-parameters.js';

/** Parameters of `nearswap` except models. */
export interface NearswapParameters {
  /** Elements that differ by at most t become the model's; other elements move by t towards the model's. */
  t: SettingInput<number>;
}

/**
 * NearSwap (alchemonaut 2024; mergekit's `nearswap`): w·b + (1−w)·a with w = clamp(t/|a − b|, 0, 1) and |a
 * − b| at least 1e-6.
 */
export const nearswap: TensorMethod<'required', NearswapParameters> = tensorMethod({
  name: 'nearswap',
  title: 'NearSwap',
  citations: [mergekit],
  base: 'required',
  startsFromBase: true,
  models: { least: 1, most: 1 },
  shared: { t: anyNumber() },
  expression: ({ base, models: [source], shared: { t } }) => ({ kind: 'nearSwap', base, source, t }),
});
