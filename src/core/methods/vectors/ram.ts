import { mergekit } from '../framework/declaration/papers.js';
import { numberParameter, type SettingInput } from '../framework/declaration/settings.js';
import { tensorMethod } from '../framework/tensors/tensor-method.js';
import type { TensorMethod } from '../framework/tensors/tensor-parameters.js';

/** Parameters of `ram` besides its models. */
export interface RamParameters {
  /** Changes up to this size count as 0. 0 or more; default 1e-5. */
  epsilon?: SettingInput<number> | undefined;
}

/** Also for `ramplus_tl`. */
export const smallestChange = numberParameter('a number, 0 or more', (value) => value >= 0, 1e-5, {
  minimum: 0,
});

/**
 * Reinforced agent merging (arXiv 2601.13572; mergekit's `ram`): the base plus the mean of the task vectors
 * that change the element by more than `epsilon`. A change that a single model makes is added in full.
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
