import { taskVectorMethod } from './framework/task-vector-method.js';

/** Model Breadcrumbs with the election of `ties` (mergekit's `breadcrumbs_ties`). */
export const breadcrumbsTies = taskVectorMethod({
  name: 'breadcrumbs_ties',
  title: 'Model Breadcrumbs with TIES',
  sparsifier: 'outliers',
  elects: true,
  normalize: false,
  rescale: false,
});
