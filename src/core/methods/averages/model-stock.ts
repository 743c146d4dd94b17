import { modelStockPaper } from '../framework/declaration/papers.js';
import { flag, type SettingInput } from '../framework/declaration/settings.js';
import { tensorMethod } from '../framework/tensors/tensor-method.js';
import type { TensorMethod } from '../framework/tensors/tensor-parameters.js';

/** Parameters of `model_stock` except models. */
export interface ModelStockParameters {
  /** Treat each row along the last dimension separately. Default false. */
  filterWise?: SettingInput<boolean> | undefined;
}

/**
 * Model Stock (Jang et al. 2024): t·average + (1−t)·base with t = N·c/(1 + (N−1)·c). Here c is the mean
 * cosine between pairs of task vectors: of the tensor, or of each row with `filter_wise`.
 */
export const modelStock: TensorMethod<'required', ModelStockParameters> = tensorMethod({
  name: 'model_stock',
  title: 'Model Stock',
  citations: [modelStockPaper],
  base: 'required',
  models: { least: 2 },
  shared: { filterWise: flag(false) },
  expression: ({ base, models, shared: { filterWise } }) => ({
    kind: 'gram',
    rule: 'model_stock',
    origin: base,
    sources: models,
    of: filterWise ? 'output' : 'tensor',
    parameters: {},
  }),
});
