import * as z from 'zod';
import { LayerloomError } from '../../../base/errors/errors.js';
import { invalidParameter } from '../../../base/errors/invalid-parameter.js';
import { isObject } from '../../../models/checkpoint/files/json.js';
import type { NeededStatistics, ReportedPlan, TaskVectorStatistics } from './method.js';
import type { ModelInput } from './recipe-input.js';
import { isUncheckedRecipe } from './unchecked-recipe.js';

// Schemas shared by methods. Error messages complete "PARAMETER: expected …".

const isModel = (value: unknown): value is ModelInput =>
  typeof value === 'string' ? value !== '' : isUncheckedRecipe(value);

const named = (value: ModelInput): unknown => {
  const given: unknown = value;
  if (typeof given !== 'object' || given === null || !('model' in given) || 'method' in given) return given;
  const { model, name, ...rest } = given as { model: unknown; name?: unknown };
  if (Object.keys(rest).length > 0) return value;
  return typeof model === 'string' && typeof name === 'string' ? `${name}=${model}` : model;
};

export const modelSchema = z.preprocess(
  named,
  z.custom<ModelInput>(isModel, {
    error: 'a model: a directory, a file of weights, org/name, or a recipe with its method',
  }),
);

export const modelsSchema = z
  .array(modelSchema, { error: 'a list of models' })
  .min(2, { error: 'two models or more' });

export const countOf = (what: string): z.ZodInt =>
  z
    .int({ error: `a whole number of ${what}, 0 or more` })
    .nonnegative({ error: `a whole number of ${what}, 0 or more` });

export const countSchema = countOf('layers');

const sum = (weights: readonly number[]): number => weights.reduce((total, weight) => total + weight, 0);

/** True if weights sum to 0 within rounding, and cannot be divided by their sum. */
const sumsToZero = (weights: readonly number[]): boolean =>
  Math.abs(sum(weights)) <= 1e-8 * Math.max(...weights.map(Math.abs));

/** Weights, which may be negative but must not sum to 0. */
export const weightsSchema = z
  .array(z.number({ error: 'finite numbers' }), { error: 'a list of numbers' })
  .min(1, { error: 'a weight for each model' })
  .refine((weights) => !sumsToZero(weights) && Number.isFinite(sum(weights)), {
    error: 'weights whose sum is finite and not 0, since they are normalised',
  });

export const weightingSchema = z.union([z.literal('magnitude'), weightsSchema], {
  error: 'numbers, or magnitude',
});

/**
 * Returns 1 / mean MAV for each expert (mean absolute value of a task vector's rows; paper §5).
 *
 * @throws MAV_UNDEFINED for an expert that equals its base
 */
export const magnitudeWeights = (experts: readonly TaskVectorStatistics[]): number[] =>
  experts.map(({ name, base, tensors }) => {
    const mean = meanMavOf(Object.values(tensors));
    if (!(mean > 0)) throw new LayerloomError('MAV_UNDEFINED', { expert: name, base: base.name });
    return 1 / mean;
  });

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

/** Formats weights: `magnitude weights: math-1 0.5112, swh-1 0.4888`. */
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

/** Returns the models that a recipe merges; undefined if it lists none. */
const mergedIn = ({ models, task, language, model }: Readonly<Record<string, unknown>>) => {
  if (Array.isArray(models)) return models as readonly unknown[];
  if (task !== undefined) return [task, language];
  return model === undefined ? undefined : [model];
};

const nameOf = (model: unknown): string =>
  isObject(model) ? `${model['method']}(${(mergedIn(model) ?? []).map(nameOf).join(', ')})` : String(model);

/** Returns weights as given; for `magnitude` also the computed numbers. */
export const resolvedWeights = (
  weights: readonly number[] | 'magnitude',
  used: readonly number[],
): Record<string, unknown> =>
  weights === 'magnitude' ? { weights, magnitude_weights: normalise(used) } : { weights };

/** Returns weights for a record: shares of 1 if normalising again changes no bit, else the weights used. */
export const repeatableWeights = (used: readonly number[]): readonly number[] => {
  const shares = normalise(used);
  return normalise(shares).every((share, index) => share === shares[index]) ? shares : used;
};

/** Returns the mean MAV over all tensors' rows without NaN and infinity. */
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

/** Returns w/Σw in float64; kernels round to their own precision. */
export const normalise = (weights: readonly number[]): number[] => {
  const total = sum(weights);
  return weights.map((weight) => weight / total);
};
