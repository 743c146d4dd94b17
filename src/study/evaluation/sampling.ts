import { isObject } from '../../core/models/checkpoint/files/json.js';
import type { Sampling } from './evaluation-block.js';

const names = ['temperature', 'top_p', 'top_k', 'min_p'] as const;

const textOf = (values: Readonly<Record<string, unknown>>): string =>
  names
    .filter((name) => values[name] !== undefined && values[name] !== null)
    .map((name) => `${name}=${Number(values[name])}`)
    .join(',');

/** Formats sampling settings: `temperature=0.6,top_p=0.95`. */
export const samplingText = (sampling: Sampling): string => textOf(sampling);

/** Returns a harness run's sampling settings; null for greedy answers. */
export const samplingIn = (generation: unknown): string | null => {
  if (!isObject(generation)) return null;
  const isGreedy =
    /^false$/i.test(String(generation['do_sample'] ?? '')) || !(Number(generation['temperature']) > 0);
  return isGreedy ? null : textOf(generation);
};

/**
 * Returns the harness's seeds for a problem's n-th answer. The few-shot seed stays the same, so that all
 * answers have the same prompts.
 *
 * @param seed four parts separated by commas; `None` stays
 * @param sample n, from 0
 */
export const seedOfSample = (seed: string, sample: number): string =>
  seed
    .split(',')
    .map((part, at) => (at === 3 || part === 'None' ? part : String(Number(part) + sample)))
    .join(',');

/**
 * Returns the model arguments that seed a back end. `hf` uses the harness's seed. Null if we cannot seed the back end,
 * which would then always return the same answers.
 */
export const seedArguments = (backend: string, seed: string): { readonly seed?: number } | null => {
  if (backend === 'hf') return {};
  if (backend !== 'vllm' && !backend.endsWith('completions')) return null;
  return { seed: Number(seed.split(',')[2]) };
};
