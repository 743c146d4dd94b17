import { mergekit } from '../framework/papers.js';
import { anyNumber, type SettingInput } from '../framework/settings.js';
import { tensorMethod } from '../framework/tensors/tensor-method.js';
import type { TensorMethod } from '../framework/tensors/tensor-parameters.js';

/** Parameters of `nearswap` besides its models. */
export interface NearswapParameters {
  /** Distance up to which an element becomes the model's; beyond it moves by this much. No default. */
  t: SettingInput<number>;
}

/**
 * NearSwap (alchemonaut 2024; mergekit's `nearswap`): the base, moved towards the model where the two are
 * near: w·b + (1−w)·a with w = clamp(t / |a − b|, 0, 1), where distances below 1e-6 count as that.
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
