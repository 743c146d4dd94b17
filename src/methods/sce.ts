import { flag, share } from './framework/settings.js';
import { tensorMethod } from './framework/tensor-method.js';

/**
 * SCE (Wan et al. 2024; mergekit's `sce`): of each tensor the `select_topk` share of elements whose task vectors vary most (of those that vary
 * at all), weighted by each model's mean squared change among them, and of those the ones whose sign is that of the sum.
 */
export const sce = tensorMethod({
  name: 'sce',
  title: 'SCE',
  base: 'required',
  shared: { selectTopk: share(1), int8Mask: flag(false) },
  expression: ({ base = { model: 0 }, models, shared }) => ({
    kind: 'sce',
    base,
    sources: models,
    share: Number(shared['selectTopk']),
  }),
});
