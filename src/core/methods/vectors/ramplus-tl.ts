import { mergekit } from '../framework/declaration/papers.js';
import { anyNumber, numberParameter, type SettingInput } from '../framework/declaration/settings.js';
import { tensorMethod } from '../framework/tensors/tensor-method.js';
import type { TensorMethod } from '../framework/tensors/tensor-parameters.js';
import { type RamParameters, smallestChange } from './ram.js';

/** Parameters of `ramplus_tl` except models. */
export interface RamplusTlParameters extends RamParameters {
  /** Rate at which ρ increases changes by a single model. Default 0.1. */
  r?: SettingInput<number> | undefined;
  /** Upper limit of ρ: 0 or more. Default 0.2. */
  alpha?: SettingInput<number> | undefined;
}

/**
 * Reinforced agent merging plus, by tensor (arXiv 2601.13572; mergekit's `ramplus_tl`): `ram`, with changes
 * by a single model multiplied by 1 + r·min(ρ, alpha). ρ is the number of elements that the model changes
 * together with others, divided by the number that it changes alone.
 */
export const ramplusTl: TensorMethod<'required', RamplusTlParameters> = tensorMethod({
  name: 'ramplus_tl',
  title: 'RAM+ (tensor-local)',
  citations: [mergekit],
  base: 'required',
  shared: {
    epsilon: smallestChange,
    r: anyNumber(0.1),
    alpha: numberParameter('a number, 0 or more', (value) => value >= 0, 0.2, { minimum: 0 }),
  },
  expression: ({ base, models, shared: { epsilon, r, alpha } }) => ({
    kind: 'ram',
    base,
    sources: models,
    epsilon,
    bonus: { rate: r, most: alpha },
  }),
});
