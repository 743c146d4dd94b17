import { fuseChat } from '../framework/declaration/papers.js';
import { flag, type SettingInput, share } from '../framework/declaration/settings.js';
import { tensorMethod } from '../framework/tensors/tensor-method.js';
import type { TensorMethod } from '../framework/tensors/tensor-parameters.js';

/** Parameters of `sce` except models. */
export interface SceParameters {
  /** Share of the varying elements to keep: above 0, at most 1. Default 1. */
  selectTopk?: SettingInput<number> | undefined;
  /** No effect; accepted for mergekit's recipes. */
  int8Mask?: SettingInput<boolean> | undefined;
}

/**
 * SCE (Wan et al. 2024; mergekit's `sce`). Keeps the `select_topk` share of elements whose task vectors vary
 * most. Weights models by their mean squared change in these, and sums changes with the sign of their total.
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
