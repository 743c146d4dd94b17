import * as z from 'zod';
import { LayerloomError } from '../../../core/base/errors/errors.js';
import { type Given, type SettingWords, setting } from '../../../core/base/errors/setting.js';
import { nearest } from '../../../core/base/nearest.js';
import { checkOptions, keysOf, spelt } from '../../../core/methods/recipe/block.js';
import { toCamelCase } from '../../../core/methods/recipe/document/case.js';

const count = z.int().min(1);
const counted = 'a whole number, 1 or more';

const value = <Type extends z.ZodType>(type: Type, words: SettingWords) =>
  setting(type.exactOptional(), words);

export const runValues = z.object({
  learningRate: value(z.number().positive().max(1), {
    meaning: 'Peak learning rate, for LoRA too.',
    expected: 'a number above 0, such as 1e-5',
  }),
  batchSize: value(count, {
    meaning: 'Samples per optimiser step, over all devices.',
    expected: counted,
  }),
  sequenceLength: value(count, { meaning: 'Maximum tokens in a sample.', expected: counted }),
  weightDecay: value(z.number().min(0).max(1), {
    meaning: 'Weight decay of AdamW.',
    expected: 'a number from 0 to 1',
  }),
  maxGradNorm: value(z.number().positive(), {
    meaning: 'Maximum gradient norm; larger gradients are clipped.',
    expected: 'a number above 0',
  }),
  schedule: value(z.enum(['linear', 'wsd']), { meaning: '`linear`, or `wsd` (warm-up, stable, decay).' }),
  warmup: value(z.int().min(0), {
    meaning: 'Optimiser steps in the warm-up.',
    expected: 'a whole number, 0 or more',
  }),
  beta2: value(z.number().gt(0).lt(1), {
    meaning: 'Second beta of AdamW.',
    expected: 'a number between 0 and 1',
  }),
  steps: value(count, { meaning: 'Optimiser steps, instead of `samples`.', expected: counted }),
  samples: value(count, {
    meaning: 'Number of samples in the run; for `joint`, of each kind of data.',
    expected: counted,
  }),
  checkpointEvery: value(count, { meaning: 'Samples between checkpoints.', expected: counted }),
  rank: value(count, { meaning: 'Rank of LoRA.', expected: counted }),
  seed: value(z.int().min(0), {
    meaning: 'Seed of sampling and order.',
    expected: 'a whole number, 0 or more',
  }),
  mix: value(z.string().min(1), {
    meaning:
      'Ratios of data sets, or for `joint` of `math` and `language`: `aya:1+nllb:3`. A set without a ratio has 1; unnamed sets are excluded.',
    expected: 'NAME:RATIO+NAME:RATIO, such as aya:1+nllb:3',
  }),
});

export type RunValues = Given<z.output<typeof runValues>>;

type Key = keyof RunValues;

const short: Readonly<Record<Key, string>> = {
  learningRate: 'lr',
  batchSize: 'batch',
  sequenceLength: 'length',
  weightDecay: 'decay',
  maxGradNorm: 'clip',
  schedule: '',
  warmup: 'warmup',
  beta2: 'beta',
  steps: 'steps',
  samples: 'samples',
  checkpointEvery: 'every',
  rank: 'r',
  seed: 's',
  mix: 'mix',
};

export interface SweptRun {
  readonly suffix: string;
  readonly values: RunValues;
}

/** Maximum number of runs in a sweep; more are surely a mistake. */
const mostRuns = 1000;

/**
 * Returns the runs of a sweep: every combination of the values. The last key varies fastest. Without values,
 * returns one run.
 *
 * @param set lists of values by key, in camel or snake case
 * @throws INVALID_PARAMETER, USAGE
 */
export const sweptRunsOf = (
  set: Readonly<Record<string, readonly (number | string)[]>>,
): readonly SweptRun[] => {
  const lists = listsOf(set);
  const size = lists.reduce((product, [, values]) => product * values.length, 1);
  if (size > mostRuns)
    throw new LayerloomError('USAGE', {
      reason: `this sweep would have ${size} runs; the maximum is ${mostRuns}. Remove some values`,
    });
  const combine = (rest: typeof lists): SweptRun[] => {
    const [first, ...others] = rest;
    if (first === undefined) return [{ suffix: '', values: {} }];
    const [key, values] = first;
    return values.flatMap((value, index) =>
      combine(others).map(({ suffix, values: inner }) => ({
        suffix: `${values.length > 1 ? `-${nameOf(key, value, index)}` : ''}${suffix}`,
        values: { [key]: value, ...inner },
      })),
    );
  };
  return combine(lists).map(({ suffix, values }) => ({ suffix, values: checked(values) }));
};

const listsOf = (set: Readonly<Record<string, readonly (number | string)[]>>) => {
  const keys = keysOf(runValues);
  const seen = new Set<string>();
  return Object.entries(set).map(([given, values]) => {
    const key = toCamelCase(spelt(given));
    if (!keys.includes(spelt(key)))
      throw new LayerloomError('INVALID_PARAMETER', {
        parameter: 'set',
        value: given,
        expected: keys.join(', '),
        nearest: nearest(given, keys),
      });
    const twice = values.find((value, index) => values.indexOf(value) !== index);
    if (seen.has(key) || twice !== undefined)
      throw new LayerloomError('USAGE', {
        reason: `${spelt(key)} is set ${twice === undefined ? 'twice' : `to ${twice} twice`}; runs of a sweep need different values`,
      });
    seen.add(key);
    if (values.length === 0)
      throw new LayerloomError('INVALID_PARAMETER', { parameter: spelt(key), value: '', expected: 'values' });
    return [key as Key, values] as const;
  });
};

const checked = (values: Readonly<Record<string, unknown>>): RunValues => {
  const found = checkedValues(values);
  if (found.steps !== undefined && found.samples !== undefined)
    throw new LayerloomError('USAGE', { reason: 'steps and samples exclude each other; set one of them' });
  return found;
};

/** @throws INVALID_PARAMETER, with the key as given: `learning_rate` */
const checkedValues = (values: Readonly<Record<string, unknown>>): RunValues => {
  try {
    return checkOptions(runValues, values);
  } catch (error) {
    if (!(error instanceof LayerloomError) || error.code !== 'INVALID_PARAMETER') throw error;
    const details = error.details as { parameter: string; value: unknown; expected: string };
    throw new LayerloomError('INVALID_PARAMETER', { ...details, parameter: spelt(details.parameter) });
  }
};

/** Returns a value's text for run names. Mixes are numbered, because their text is too long. */
const nameOf = (key: Key, value: number | string, index: number): string =>
  key === 'mix' ? `mix${index + 1}` : `${short[key]}${String(value).replace(/[^\w.-]/g, '')}`;
