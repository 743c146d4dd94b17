import { z } from 'zod';

// Parameters that several methods have. Each message ends the sentence "PARAMETER: expected …".

export const modelSchema = z
  .string({ error: 'a model: a directory, a .safetensors file or org/name' })
  .min(1, { error: 'a model: a directory, a .safetensors file or org/name' });

export const countSchema = z
  .int({ error: 'a whole number of layers, 0 or more' })
  .nonnegative({ error: 'a whole number of layers, 0 or more' });

const sum = (weights: readonly number[]): number => weights.reduce((total, weight) => total + weight, 0);

/** What is left of 1 and −1 after rounding is no sum to divide by. */
const sumsToZero = (weights: readonly number[]): boolean =>
  Math.abs(sum(weights)) <= 1e-8 * Math.max(...weights.map(Math.abs));

/** One weight a model. Negative ones are legal; what they sum to must not be 0, since they are normalised. */
export const weightsSchema = z
  .array(z.number({ error: 'finite numbers' }), { error: 'a list of numbers' })
  .min(1, { error: 'a weight for each model' })
  .refine((weights) => !sumsToZero(weights) && Number.isFinite(sum(weights)), {
    error: 'weights whose sum is finite and not 0, since they are normalised',
  });

/** w / Σw, in float64; kernels round the result to the precision they compute in. */
export const normalise = (weights: readonly number[]): number[] => {
  const total = sum(weights);
  return weights.map((weight) => weight / total);
};
