import { fuseChat } from '../framework/papers.js';
import { flag, type SettingInput, share } from '../framework/settings.js';
import { tensorMethod } from '../framework/tensors/tensor-method.js';
import type { TensorMethod } from '../framework/tensors/tensor-parameters.js';

/** Parameters of `sce` besides its models. */
export interface SceParameters {
  /** Share of the elements whose variance is not 0 that stays: above 0, at most 1. Default 1. */
  selectTopk?: SettingInput<number> | undefined;
  /** Taken from mergekit's recipes, and changes nothing. */
  int8Mask?: SettingInput<boolean> | undefined;
}

/**
 * SCE (Wan et al. 2024; mergekit's `sce`): of each tensor the `select_topk` share of elements whose task
 * vectors vary most (of those that vary at all), weighted by each model's mean squared change among them, and
 * of those the ones whose sign is that of the sum.
 */
export const sce: TensorMethod<'required', SceParameters> = tensorMethod({
  name: 'sce',
  title: 'SCE',
  citations: [fuseChat],
  base: 'required',
  shared: { selectTopk: share(1), int8Mask: flag(false) },
  expression: ({ base, models, shared: { selectTopk } }) => ({
    kind: 'sce',
    base,
    sources: models,
    share: selectTopk,
  }),
});
