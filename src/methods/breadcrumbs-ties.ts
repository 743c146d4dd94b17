import { flag } from './framework/settings.js';
import {
  changesOf,
  density,
  elected,
  gamma,
  int8Mask,
  lambda,
  type OutlierParameters,
  pruned,
  rescale,
  weight,
} from './framework/task-vectors.js';
import { tensorMethod } from './framework/tensor-method.js';
import type { TensorMethod } from './framework/tensor-parameters.js';

/** Parameters of `breadcrumbs_ties` besides its models. */
export type BreadcrumbsTiesParameters = OutlierParameters;

/** Model Breadcrumbs with the election of `ties` (mergekit's `breadcrumbs_ties`). */
export const breadcrumbsTies: TensorMethod<
  'required',
  BreadcrumbsTiesParameters,
  'weight' | 'density' | 'gamma'
> = tensorMethod({
  name: 'breadcrumbs_ties',
  title: 'Model Breadcrumbs with TIES',
  base: 'required',
  shared: { normalize: flag(false), rescale: rescale(false), lambda, int8Mask },
  perModel: { weight, density, gamma },
  expression: ({ base, models, perModel, shared }) =>
    elected(
      base,
      changesOf(models, perModel, (own) =>
        pruned({ by: 'outliers', density: own.density, gamma: own.gamma }, shared.rescale),
      ),
      shared,
    ),
});
