import { mergekit } from '../framework/declaration/papers.js';
import { numberParameter, type SettingInput } from '../framework/declaration/settings.js';
import { tensorMethod } from '../framework/tensors/tensor-method.js';
import type { TensorMethod } from '../framework/tensors/tensor-parameters.js';

/** Parameters of `ram` except models. */
export interface RamParameters {
  /** Changes up to this size count as 0. At least 0; default 1e-5. */
  epsilon?: SettingInput<number> | undefined;
}

/** Parameter `epsilon` of `ram` and `ramplus_tl`. */
export const smallestChange = numberParameter('a number, 0 or more', (value) => value >= 0, 1e-5, {
  minimum: 0,
});

/**
 * Reinforced agent merging (arXiv 2601.13572; mergekit's `ram`): adds to each element of the base the mean of
 * the changes above `epsilon`.
 */
export const ram: TensorMethod<'required', RamParameters> = tensorMethod({
  name: 'ram',
  title: 'RAM',
  citations: [mergekit],
  base: 'required',
  shared: { epsilon: smallestChange },
  expression: ({ base, models, shared: { epsilon } }) => ({
    kind: 'ram',
    base,
    sources: models,
    epsilon,
    bonus: null,
  }),
});
