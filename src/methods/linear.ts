import type { Expression } from '../operations/expression.js';
import { normalise } from './framework/parameters.js';
import { anyNumber, flag, invalid } from './framework/settings.js';
import { tensorMethod } from './framework/tensor-method.js';

/**
 * Weighted average: Σ wᵢxᵢ / Σ wᵢ, or Σ wᵢxᵢ with `normalize: false` (Wortsman et al. 2022; mergekit's `linear`).
 */
export const linear = tensorMethod({
  name: 'linear',
  title: 'Linear',
  base: 'ignored',
  shared: { normalize: flag(true) },
  perModel: { weight: anyNumber() },
  expression: ({ models, perModel, shared, tensor, path }): Expression => {
    const given = perModel.map(({ weight }) => Number(weight));
    const total = given.reduce((sum, weight) => sum + weight, 0);
    if (shared['normalize'] === true && Math.abs(total) <= 1e-8 * Math.max(...given.map(Math.abs)))
      throw invalid(
        [...path, 'weight'],
        given,
        `weights whose sum is not 0, since they are normalised (${tensor})`,
      );
    const weights = shared['normalize'] === true ? normalise(given) : given;
    // A weight of 0 is no term: nothing of that model is read, and its infinities do not become NaN.
    const terms = models
      .map((source, index) => ({ source, weight: weights[index] ?? 0 }))
      .filter(({ weight }) => weight !== 0);
    const [first] = models;
    return terms.length === 0 && first !== undefined
      ? { kind: 'linear', terms: [{ source: first, weight: 0 }] }
      : { kind: 'linear', terms };
  },
});
