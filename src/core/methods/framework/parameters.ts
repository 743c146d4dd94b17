import * as z from 'zod';
import { LayerloomError } from '../../base/errors.js';
import { invalidParameter } from '../../base/invalid-parameter.js';
import { isObject } from '../../models/checkpoint/json.js';
import type { NeededStatistics, ReportedPlan, TaskVectorStatistics } from './method.js';
import type { ModelInput } from './recipe-input.js';

// Parameters that several methods have. Each message ends the sentence "PARAMETER: expected …".

const isModel = (value: unknown): value is ModelInput =>
  typeof value === 'string'
    ? value !== ''
    : typeof value === 'object' &&
      value !== null &&
      typeof (value as { method?: unknown }).method === 'string';

/** `{ model, name }` is NAME=MODEL. */
const named = (value: ModelInput): unknown => {
  const given: unknown = value;
  if (typeof given !== 'object' || given === null || !('model' in given) || 'method' in given) return given;
  const { model, name, ...rest } = given as { model: unknown; name?: unknown };
  if (Object.keys(rest).length > 0) return value;
  return typeof model === 'string' && typeof name === 'string' ? `${name}=${model}` : model;
};

/** A model: where it is, or the recipe that makes it. */
export const modelSchema = z.preprocess(
  named,
  z.custom<ModelInput>(isModel, {
    error: 'a model: a directory, a file of weights, org/name, or a recipe with its method',
  }),
);

/** A whole number of `what`, 0 or more. */
export const countOf = (what: string): z.ZodInt =>
  z
    .int({ error: `a whole number of ${what}, 0 or more` })
    .nonnegative({ error: `a whole number of ${what}, 0 or more` });

export const countSchema = countOf('layers');

const sum = (weights: readonly number[]): number => weights.reduce((total, weight) => total + weight, 0);

/** True where weights cancel but for rounding: such a sum must not be divided by. */
const sumsToZero = (weights: readonly number[]): boolean =>
  Math.abs(sum(weights)) <= 1e-8 * Math.max(...weights.map(Math.abs));

/** One weight a model. Negative ones are legal; what they sum to must not be 0, since they are normalised. */
export const weightsSchema = z
  .array(z.number({ error: 'finite numbers' }), { error: 'a list of numbers' })
  .min(1, { error: 'a weight for each model' })
  .refine((weights) => !sumsToZero(weights) && Number.isFinite(sum(weights)), {
    error: 'weights whose sum is finite and not 0, since they are normalised',
  });

/** Weights given as numbers, or found by `magnitudeWeights`. */
export const weightingSchema = z.union([z.literal('magnitude'), weightsSchema], {
  error: 'numbers, or magnitude',
});

/**
 * Magnitude-adjusted weights (paper §5): each expert's is 1 / (mean MAV over all rows of all its task-vector
 * tensors, every row counting once).
 *
 * @throws LayerloomError MAV_UNDEFINED for an expert that equals its base
 */
export const magnitudeWeights = (experts: readonly TaskVectorStatistics[]): number[] =>
  experts.map(({ name, base, tensors }) => {
    const mean = meanMavOf(Object.values(tensors));
    if (!(mean > 0)) throw new LayerloomError('MAV_UNDEFINED', { expert: name, base: base.name });
    return 1 / mean;
  });

/**
 * The statistics that `magnitudeWeights` needs.
 *
 * @throws LayerloomError INVALID_PARAMETER where there is no base
 */
export const magnitudeStatistics = (
  base: ModelInput | undefined,
  experts: readonly ModelInput[],
): NeededStatistics => {
  if (base === undefined)
    throw invalidParameter(
      'base',
      null,
      'the model that the experts were fine-tuned from, which magnitude weights need',
    );
  return { base, experts, what: { kind: 'rows', rows: 'input', eachRow: false } };
};

/** `magnitude weights: math-1 0.5112, swh-1 0.4888` and the like, where a plan has weights that nobody gave. */
export const weightNotes = ({ recipe, inputs }: ReportedPlan): string[] => {
  const found: readonly (readonly [kind: unknown, weights: unknown])[] = [
    ['magnitude', recipe['magnitude_weights']],
    [recipe['schedule'], recipe['schedule_weights']],
  ];
  const merged = mergedIn(recipe) ?? inputs.map(({ name }) => name);
  return found.flatMap(([kind, weights]) => {
    if (!Array.isArray(weights)) return [];
    const named = weights.map((weight, index) => `${nameOf(merged[index])} ${Number(weight).toFixed(4)}`);
    return [`${kind} weights: ${named.join(', ')}`];
  });
};

/** The merged models of a recipe as plans have it, which names them if one of them is a recipe. */
const mergedIn = ({ models, task, language, model }: Readonly<Record<string, unknown>>) => {
  if (Array.isArray(models)) return models as readonly unknown[];
  if (task !== undefined) return [task, language];
  return model === undefined ? undefined : [model];
};

/** A model's name, or `soup(math-1, math-2)` for a recipe. */
const nameOf = (model: unknown): string =>
  isObject(model) ? `${model['method']}(${(mergedIn(model) ?? []).map(nameOf).join(', ')})` : String(model);

/**
 * Weights as they are recorded: as given, and with `magnitude` also the weights found, each over their sum.
 */
export const resolvedWeights = (
  weights: readonly number[] | 'magnitude',
  used: readonly number[],
): Record<string, unknown> =>
  weights === 'magnitude' ? { weights, magnitude_weights: normalise(used) } : { weights };

/**
 * Weights that give the same shares when they are given again: the shares themselves where dividing them by
 * their sum leaves them as they are, to the bit, else the weights.
 */
export const repeatableWeights = (used: readonly number[]): readonly number[] => {
  const shares = normalise(used);
  return normalise(shares).every((share, index) => share === shares[index]) ? shares : used;
};

/** Mean MAV over all rows of all tensors, every row counting once. Rows that are not finite are left out. */
export const meanMavOf = (
  tensors: readonly { readonly rows: number; readonly meanMav: number; readonly nonFiniteRows: number }[],
): number => {
  let [sum, rows] = [0, 0];
  for (const tensor of tensors) {
    const finite = tensor.rows - tensor.nonFiniteRows;
    if (finite > 0) sum += tensor.meanMav * finite;
    rows += finite;
  }
  return sum / rows;
};

/** w / Σw, in float64; kernels round the result to the precision they compute in. */
export const normalise = (weights: readonly number[]): number[] => {
  const total = sum(weights);
  return weights.map((weight) => weight / total);
};
