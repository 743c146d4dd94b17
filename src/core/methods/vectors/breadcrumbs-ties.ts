import { modelBreadcrumbs, tiesMerging } from '../framework/declaration/papers.js';
import {
  byOutliers,
  changesWithoutOutliers,
  elected,
  type OutlierParameters,
  sparseSumOf,
} from '../framework/task-vectors.js';
import { tensorMethod } from '../framework/tensors/tensor-method.js';
import type { TensorMethod } from '../framework/tensors/tensor-parameters.js';

/** Parameters of `breadcrumbs_ties` except models. */
export type BreadcrumbsTiesParameters = OutlierParameters;

/** Model Breadcrumbs with the sign election of `ties` (mergekit's `breadcrumbs_ties`). */
export const breadcrumbsTies: TensorMethod<
  'required',
  BreadcrumbsTiesParameters,
  'weight' | 'density' | 'gamma'
> = tensorMethod({
  name: 'breadcrumbs_ties',
  title: 'Model Breadcrumbs with TIES',
  citations: [modelBreadcrumbs, tiesMerging],
  base: 'required',
  shared: sparseSumOf(false, false),
  perModel: changesWithoutOutliers,
  expression: (input) => elected(input, byOutliers),
});
