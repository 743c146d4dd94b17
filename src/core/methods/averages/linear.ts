import { itemAt } from '../../base/errors/lookup.js';
import { modelSoups } from '../framework/declaration/papers.js';
import { anyNumber, flag, invalidSetting, type SettingInput } from '../framework/declaration/settings.js';
import { tensorMethod } from '../framework/tensors/tensor-method.js';
import type { TensorMethod } from '../framework/tensors/tensor-parameters.js';
import type { Expression } from '../operations/expression.js';

/** Parameters of `linear` except models. */
export interface LinearParameters {
  /** Weight of a model that has none in its entry or in `weights`. A model of weight 0 is not read. */
  weight?: SettingInput<number> | undefined;
  /** Divide by the sum of the weights. Default true. */
  normalize?: SettingInput<boolean> | undefined;
}

/** Σ wᵢxᵢ / Σ wᵢ, or Σ wᵢxᵢ with `normalize: false` (Wortsman et al. 2022; mergekit's `linear`). */
export const linear: TensorMethod<'ignored', LinearParameters, 'weight'> = tensorMethod({
  name: 'linear',
  title: 'Linear',
  citations: [modelSoups],
  base: 'ignored',
  shared: { normalize: flag(true) },
  perModel: { weight: anyNumber() },
  expression: ({ models, perModel, shared: { normalize }, tensor, path }): Expression => {
    const given = perModel.map(({ weight }) => weight);
    const total = given.reduce((sum, weight) => sum + weight, 0);
    if (normalize && Math.abs(total) <= 1e-8 * Math.max(...given.map(Math.abs)))
      throw invalidSetting(
        [...path, 'weight'],
        given,
        `weights whose sum is not 0, since they are normalised (${tensor})`,
      );
    const divisor = normalize ? total : 1;
    // A model of weight 0 is not read; 0 times infinity would be NaN.
    const terms = models
      .map((source, index) => ({ source, weight: itemAt(given, index) / divisor }))
      .filter(({ weight }) => weight !== 0);
    return { kind: 'linear', terms: terms.length === 0 ? [{ source: models[0], weight: 0 }] : terms };
  },
});
