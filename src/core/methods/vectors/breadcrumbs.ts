import { modelBreadcrumbs } from '../framework/declaration/papers.js';
import {
  byOutliers,
  changesWithoutOutliers,
  type OutlierParameters,
  sparseSumOf,
  summed,
} from '../framework/task-vectors.js';
import { tensorMethod } from '../framework/tensors/tensor-method.js';
import type { TensorMethod } from '../framework/tensors/tensor-parameters.js';

/** Parameters of `breadcrumbs` except models. */
export type BreadcrumbsParameters = OutlierParameters;

/**
 * Model Breadcrumbs (Davari and Belilovsky 2023): base + λ·Σ wᵢδᵢ, where δᵢ drops the `gamma` share of
 * largest changes and keeps the next `density` share. If too few remain, some of the largest are kept.
 */
export const breadcrumbs: TensorMethod<'required', BreadcrumbsParameters, 'weight' | 'density' | 'gamma'> =
  tensorMethod({
    name: 'breadcrumbs',
    title: 'Model Breadcrumbs',
    citations: [modelBreadcrumbs],
    base: 'required',
    shared: sparseSumOf(false, false),
    perModel: changesWithoutOutliers,
    expression: (input) => summed(input, byOutliers),
  });
