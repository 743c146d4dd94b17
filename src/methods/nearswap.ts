import { anyNumber } from './framework/settings.js';
import { tensorMethod } from './framework/tensor-method.js';

/**
 * NearSwap (alchemonaut 2024; mergekit's `nearswap`): the base, moved towards the model where the two are near: w·b + (1−w)·a with
 * w = clamp(t / |a − b|, 0, 1), where distances below 1e-6 count as that.
 */
export const nearswap = tensorMethod({
  name: 'nearswap',
  title: 'NearSwap',
  base: 'required',
  models: { least: 1, most: 1 },
  shared: { t: anyNumber() },
  expression: ({ base = { model: 0 }, models: [source = { model: 1 }], shared: { t = 0 } }) => ({
    kind: 'nearSwap',
    base,
    source,
    t: Number(t),
  }),
});
