import { LayerloomError } from '../../../base/errors/errors.js';
import { itemAt } from '../../../base/errors/lookup.js';
import { pairIndex } from '../../../tensor/pair-index.js';

/** Dot products of vectors. */
export interface Gram {
  readonly count: number;
  /** Returns Σ xᵢxⱼ. */
  of(i: number, j: number): number;
}

/** Reads dot products: pairs i ≤ j start at `pairs[at]`, in the order of `pairIndex`. */
export const gramOf = (pairs: Float64Array, at: number, count: number): Gram => ({
  count,
  of: (i, j) => itemAt(pairs, at + pairIndex(Math.min(i, j), Math.max(i, j), count)),
});

/** A rule's parameters, stored in plans. */
export type RuleParameters = Readonly<Record<string, number | boolean | string | readonly number[]>>;

/** Returns coefficients of a linear combination, or why they are undefined. Must be pure. */
export type GramRule = (gram: Gram, parameters: RuleParameters) => readonly number[] | string;

const number = (parameters: RuleParameters, name: string): number => Number(parameters[name]);

const clamp = (x: number, low: number, high: number): number => Math.min(high, Math.max(low, x));

const normOf = (gram: Gram, i: number): number => Math.sqrt(Math.max(0, gram.of(i, i)));

const normsOf = (gram: Gram): number[] => Array.from({ length: gram.count }, (_, i) => normOf(gram, i));

const sum = (numbers: readonly number[]): number => numbers.reduce((total, x) => total + x, 0);

const spherical = (cosine: number, t: number): [number, number] => {
  const theta = Math.acos(cosine);
  return [Math.sin((1 - t) * theta) / Math.sin(theta), Math.sin(t * theta) / Math.sin(theta)];
};

/** Spherical interpolation by the angle between vectors, which keep their lengths (averages/slerp.ts). */
const slerp: GramRule = (gram, parameters) => {
  const t = number(parameters, 't');
  const [a, b] = normsOf(gram).map((norm) => (norm > 1e-8 ? norm : 1)) as [number, number];
  const cosine = clamp(gram.of(0, 1) / (a * b), -1, 1);
  return Math.abs(cosine) > 0.9995 ? [1 - t, t] : spherical(cosine, t);
};

/** Spherical interpolation, linear only if 1 − cos² ≤ 1e-16, as division by sin θ nears 0 (`nuslerp`). */
const nuslerp: GramRule = (gram, parameters) => {
  const t = number(parameters, 't');
  const [a, b] = normsOf(gram).map((norm) => Math.max(norm, 1e-7)) as [number, number];
  const cosine = clamp(gram.of(0, 1) / (a * b), -1, 1);
  return 1 - cosine * cosine <= 1e-16 ? [1 - t, t] : spherical(cosine, t);
};

/** Returns the dot product of two combinations of normalised vectors: Σ xᵢyⱼGᵢⱼ / (byᵢ·byⱼ). */
const product = (gram: Gram, by: readonly number[], x: readonly number[], y: readonly number[]): number => {
  let total = 0;
  for (let i = 0; i < gram.count; i += 1)
    for (let j = 0; j < gram.count; j += 1)
      total += (itemAt(x, i) * itemAt(y, j) * gram.of(i, j)) / (itemAt(by, i) * itemAt(by, j));
  return total;
};

const unit = (count: number, at: number): number[] =>
  Array.from({ length: count }, (_, i) => (i === at ? 1 : 0));

/**
 * Barycentric interpolation on a sphere, in the tangent space at the weighted mean (mergekit's `multislerp`).
 */
const multislerp: GramRule = (gram, parameters) => {
  const { count } = gram;
  const eps = number(parameters, 'eps');
  const given = parameters['weights'] as readonly number[];
  const weights =
    parameters['normalizeWeights'] === true ? given.map((weight) => weight / sum(given)) : given;
  if (count === 1) return [1];
  const norms = normsOf(gram);
  const by = norms.map((norm) => norm + eps);
  const meanNorm = Math.sqrt(Math.max(0, product(gram, by, weights, weights)));
  if (meanNorm < eps)
    return count === 2
      ? weights
      : 'the weighted directions cancel out, so that their mean is 0; use other weights';
  const mean = weights.map((weight) => weight / meanNorm);
  const towards = sum(weights.map((weight, i) => weight * product(gram, by, unit(count, i), mean)));
  const tangent = weights.map((weight, i) => weight - towards * itemAt(mean, i));
  const length = Math.sqrt(Math.max(0, product(gram, by, tangent, tangent))) + eps;
  const scale = sum(weights.map((weight, i) => weight * itemAt(norms, i)));
  return mean.map(
    (m, i) =>
      (scale * (m * Math.cos(length) + (itemAt(tangent, i) * Math.sin(length)) / length)) / itemAt(by, i),
  );
};

/** The Karcher mean of directions by gradient descent, times the mean norm (mergekit's `karcher`). */
const karcher: GramRule = (gram, parameters) => {
  const { count } = gram;
  if (count === 1) return [1];
  const [most, tolerance] = [number(parameters, 'maxIter'), number(parameters, 'tol')];
  const norms = normsOf(gram);
  const valid = norms.map((norm) => norm > tolerance);
  const share = 1 / valid.filter(Boolean).length;
  if (!Number.isFinite(share)) return norms.map(() => 0);
  const by = norms.map((norm) => (norm === 0 ? 1 : norm));
  const dot = (x: readonly number[], y: readonly number[]) => product(gram, by, x, y);
  const toUnit = (x: readonly number[]): readonly number[] => {
    const norm = Math.sqrt(Math.max(0, dot(x, x)));
    return norm > tolerance ? x.map((c) => c / norm) : x;
  };
  let mean = valid.map((is) => (is ? share : 0)) as readonly number[];
  mean =
    Math.sqrt(Math.max(0, dot(mean, mean))) < tolerance ? unit(count, valid.indexOf(true)) : toUnit(mean);
  for (let iteration = 0; iteration < most; iteration += 1) {
    let tangent = mean.map(() => 0);
    for (let i = 0; i < count; i += 1) {
      if (!valid[i]) continue;
      const cosine = clamp(dot(mean, unit(count, i)), -1, 1);
      const theta = Math.acos(cosine);
      if (theta < tolerance) continue;
      const factor = (share * theta) / Math.sin(theta);
      tangent = tangent.map((c, j) => c + factor * ((i === j ? 1 : 0) - cosine * itemAt(mean, j)));
    }
    const length = Math.sqrt(Math.max(0, dot(tangent, tangent)));
    if (length < tolerance) break;
    mean = toUnit(
      mean.map((c, j) => Math.cos(length) * c + (Math.sin(length) * itemAt(tangent, j)) / length),
    );
  }
  const scale = sum(norms) / count;
  return mean.map((c, i) => (scale * c) / itemAt(by, i));
};

/**
 * Returns coefficients `t`/N for N task vectors (averages/model-stock.ts); 0 if t's denominator is nearly 0.
 */
const modelStock: GramRule = (gram) => {
  const { count } = gram;
  const norms = normsOf(gram);
  const cosines: number[] = [];
  for (let i = 0; i < count; i += 1)
    for (let j = i + 1; j < count; j += 1)
      cosines.push(clamp(gram.of(i, j) / Math.max(itemAt(norms, i) * itemAt(norms, j), 1e-6), -1, 1));
  const cosine = sum(cosines) / cosines.length;
  const denominator = 1 + (count - 1) * cosine;
  const t = Math.abs(denominator) < 1e-6 ? 0 : (count * cosine) / denominator;
  return norms.map(() => t / count);
};

interface NamedRule {
  readonly coefficients: GramRule;
  /** True for valid parameters; checked because plans may come from other programs. */
  readonly accepts: (parameters: RuleParameters, count: number) => boolean;
}

/** Maximum iterations: rules run on the main thread, where they cannot be cancelled. */
export const mostIterations = 10_000;

const isNumber = (value: unknown): value is number => typeof value === 'number';
const isPositive = (value: unknown): boolean => isNumber(value) && value > 0;
const isIterations = (value: unknown): boolean =>
  isNumber(value) && Number.isInteger(value) && value >= 0 && value <= mostIterations;

const rules = new Map<string, NamedRule>([
  ['slerp', { coefficients: slerp, accepts: ({ t }, count) => count === 2 && isNumber(t) }],
  ['nuslerp', { coefficients: nuslerp, accepts: ({ t }, count) => count === 2 && isNumber(t) }],
  [
    'multislerp',
    {
      coefficients: multislerp,
      accepts: ({ weights, normalizeWeights, eps }, count) =>
        Array.isArray(weights) &&
        weights.length === count &&
        typeof normalizeWeights === 'boolean' &&
        isPositive(eps),
    },
  ],
  [
    'karcher',
    { coefficients: karcher, accepts: ({ maxIter, tol }) => isIterations(maxIter) && isPositive(tol) },
  ],
  ['model_stock', { coefficients: modelStock, accepts: (_, count) => count >= 2 }],
]);

/**
 * Registers a rule for this process. It must check its own parameters.
 *
 * @throws USAGE if the name is taken
 */
export const registerRule = (name: string, rule: GramRule): void => {
  if (rules.has(name))
    throw new LayerloomError('USAGE', { reason: `a rule named ${name} is registered already` });
  rules.set(name, { coefficients: rule, accepts: () => true });
};

/** @throws MERGE_UNDEFINED if this process has no such rule */
export const ruleNamed = (name: string, tensor: string): NamedRule => {
  const rule = rules.get(name);
  if (rule === undefined)
    throw new LayerloomError('MERGE_UNDEFINED', {
      tensor,
      method: name,
      reason: 'no such rule is registered in this process (docs/methods.md)',
    });
  return rule;
};
