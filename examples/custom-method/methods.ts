// Two merge methods from outside the package. `layerloom merge RECIPE.yaml --plugin methods.js` makes recipes understand them.
import {
  anyNumber,
  type Gram,
  type GramRule,
  type MethodParameters,
  numberParameter,
  registerMethod,
  tensorMethod,
} from 'layerloom';

/**
 * ExPO (Zheng et al. 2024): further in the direction in which fine-tuning went: base + (1 + α)·(x − base). A linear combination of two tensors,
 * like soups and task arithmetic.
 */
const expo = tensorMethod({
  name: 'expo',
  title: 'ExPO',
  base: 'required',
  models: { least: 1, most: 1 },
  shared: { alpha: numberParameter('a number, 0 or more', (value) => value >= 0, 0.3) },
  expression: ({ base, models: [source], shared: { alpha } }) => ({
    kind: 'linear',
    terms: [
      { source, weight: 1 + alpha },
      { source: base, weight: -alpha },
    ],
  }),
});
registerMethod(expo);

/** Coefficients wᵢ·m / (‖δᵢ‖·Σw), where m is the mean norm. The Gram matrix has the squared norms on its diagonal. */
const coefficients: GramRule = (gram: Gram, { weights }) => {
  const given = weights as readonly number[];
  const norms = given.map((_, i) => Math.sqrt(gram.of(i, i)));
  const total = given.reduce((sum, weight) => sum + weight, 0);
  if (total === 0) return 'the weights sum to 0';
  const mean = norms.reduce((sum, norm) => sum + norm, 0) / norms.length;
  // What has not changed has no direction to go in.
  return given.map((weight, i) => (norms[i] ? (weight * mean) / ((norms[i] ?? 1) * total) : 0));
};

/** A weighted average of task vectors that are first brought to one norm, so that the expert trained longest does not drown the others. */
const equalNorms = tensorMethod({
  name: 'equal_norms',
  title: 'Equal norms',
  base: 'required',
  perModel: { weight: anyNumber(1) },
  expression: ({ base, models, perModel }) => ({
    kind: 'gram',
    rule: 'equal_norms',
    origin: base,
    sources: models,
    of: 'tensor',
    parameters: { weights: perModel.map(({ weight }) => weight) },
  }),
});
registerMethod(equalNorms, { rules: { equal_norms: coefficients } });

// Lets `merge({ method: 'expo', … })` compile, and refuse parameters that the method does not have.
declare module 'layerloom' {
  interface CustomMethods {
    expo: MethodParameters<typeof expo>;
    equal_norms: MethodParameters<typeof equalNorms>;
  }
}
