import { mergekit } from '../framework/declaration/papers.js';
import { anyNumber, type SettingInput } from '../framework/declaration/settings.js';
import { tensorMethod } from '../framework/tensors/tensor-method.js';
import type { TensorMethod } from '../framework/tensors/tensor-parameters.js';

/** Parameters of `nearswap` besides its models. */
export interface NearswapParameters {
  /**
   * An element that differs from the model's by at most t becomes the model's; any other moves towards it by
   * t. Required.
   */
  t: SettingInput<number>;
}

/**
 * NearSwap (alchemonaut 2024; mergekit's `nearswap`): w·b + (1−w)·a with w = clamp(t / |a − b|, 0, 1), which
 * moves the base towards the model where they are near. Distances below 1e-6 count as 1e-6.
 */
export const nearswap: TensorMethod<'required', NearswapParameters> = tensorMethod({
  name: 'nearswap',
  title: 'NearSwap',
  citations: [mergekit],
  base: 'required',
  startsFromBase: true,
  models: { least: 1, most: 1 },
  shared: { t: anyNumber() },
  expression: ({ base, models: [source], shared: { t } }) => ({
    kind: 'nearSwap',
    base,
    source,
    t,
  }),
});
