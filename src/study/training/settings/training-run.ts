import type * as z from 'zod';
import { layerloomCommand } from '../../../core/base/errors/command-line.js';
import { LayerloomError } from '../../../core/base/errors/errors.js';
import { invalidParameter } from '../../../core/base/errors/invalid-parameter.js';
import { optionName } from '../../../core/base/errors/option-name.js';
import type { Partition, Side } from '../../../core/measure/partition/partition.js';
import { checkOptions } from '../../../core/methods/recipe/block.js';
import { choices, type Trainer, type TrainingWay } from './choices.js';
import { type DataMix, dataMixOf } from './data-mix.js';
import { kindOf, type Preset, type PresetWithData, type TrainingRow } from './preset.js';
import type { RunValues, SweptRun } from './run-values.js';
import { type TrainingParameters, trainingSettings } from './training-settings.js';

/** Partition and the side that a run trains. Without `side`, both sides train, each on its own data. */
export interface TrainedPart {
  readonly partition: Partition;
  readonly side?: Side;
}

/** Training for which all values are decided; configurations are written from it. */
export interface TrainingRun {
  /** Preset's name; in a sweep with the run's values: `math-1-lr1e-7-s2`. */
  readonly name: string;
  readonly presetName: string;
  readonly preset: Preset;
  readonly trainer: Trainer;
  readonly base: string;
  readonly way: TrainingWay;
  /** Part that is trained; absent if all parameters are. */
  readonly part?: TrainedPart;
  readonly partition?: Partition;
  /**
   * The row of Table 4 or of our own preset, with the values set for this run. The row's learning rate is for
   * full fine-tuning; `learningRate` is this run's.
   */
  readonly row: TrainingRow;
  readonly values: RunValues;
  readonly cpu: boolean;
  readonly learningRate: number;
  /** LoRA's settings; absent for full fine-tuning. */
  readonly lora?: { readonly rank: number; readonly alpha: number };
  readonly mix: DataMix;
  readonly seed: number;
  readonly devices: number;
  readonly batchPerDevice: number;
  readonly steps: number;
  readonly stepsPerCheckpoint: number;
  /** Steps in which WSD decays; absent for the linear schedule. */
  readonly decaySteps?: number;
}

/**
 * Derives all values of a configuration.
 *
 * @throws INVALID_PARAMETER, USAGE
 */
export const trainingRunOf = (
  known: PresetWithData,
  parameters: TrainingParameters,
  partition: Partition | undefined,
  { suffix, values }: SweptRun = { suffix: '', values: {} },
): TrainingRun => {
  const { preset } = known;
  const settings = checkOptions(trainingSettings, { ...parameters });
  const { trainer, base = choices.base, method, way, cpu } = settings;
  checkOnce(settings, values);
  const rank = values.rank ?? settings.rank;
  const row = rowOf(preset.row, values);
  if (rank !== undefined && method !== 'lora')
    throw new LayerloomError('USAGE', {
      reason: `${optionName('rank')} is for LoRA; give ${optionName('method', 'lora')} too`,
    });

  const part = trainedPartOf(way, preset, partition);
  checkTrainer(trainer, way);
  if (cpu && trainer !== 'trl')
    throw usage(`${optionName('cpu')} is for ${optionName('trainer', 'trl')}; ${trainer} needs a GPU`);

  const asked = values.samples ?? settings.samples ?? preset.samples ?? choices.samples;
  const kinds = preset.categories.length;
  const samples = values.steps === undefined ? asked : (values.steps * row.batchSize) / kinds;
  const mix = dataMixOf(known, { samples, data: settings.data, mix: values.mix });
  const isWarmupOurs = preset.isOwnRow === true && values.warmup === undefined;
  const { steps, stepsPerCheckpoint } = stepsOf(isWarmupOurs ? { ...row, warmup: 0 } : row, {
    samples,
    all: samples * kinds,
    checkpointEvery: values.checkpointEvery ?? checkpointEveryOf(preset, samples * kinds),
  });
  const decaySteps = row.schedule === 'wsd' ? Math.round(steps * choices.decayShare) : undefined;

  const { devices = cpu ? 1 : choices.devices[method] } = settings;
  if (row.batchSize % devices !== 0)
    throw invalidParameter('devices', devices, `a divisor of the batch size ${row.batchSize}`);
  return {
    name: `${preset.stem ?? settings.preset}${suffix}`,
    presetName: settings.preset,
    preset,
    trainer,
    base,
    way,
    ...(part === undefined ? {} : { part }),
    ...(partition === undefined ? {} : { partition }),
    row: isWarmupOurs ? { ...row, warmup: warmupOf(steps) } : row,
    values,
    cpu,
    learningRate:
      method === 'lora' && values.learningRate === undefined
        ? scaled(row.learningRate, choices.lora.learningRateFactor)
        : row.learningRate,
    ...(method === 'lora' ? { lora: loraOf(rank) } : {}),
    mix,
    seed: values.seed ?? settings.seed ?? preset.number,
    devices,
    batchPerDevice: row.batchSize / devices,
    steps,
    stepsPerCheckpoint,
    ...(decaySteps === undefined ? {} : { decaySteps }),
  };
};

const usage = (reason: string): LayerloomError => new LayerloomError('USAGE', { reason });

/** @throws USAGE for a value given both as an option and in the sweep */
const checkOnce = (settings: z.output<typeof trainingSettings>, values: RunValues): void => {
  const twice = [
    ...(settings.rank !== undefined && values.rank !== undefined ? [optionName('rank')] : []),
    ...(settings.samples !== undefined && (values.samples ?? values.steps) !== undefined
      ? [optionName('samples')]
      : []),
    ...(settings.seed !== undefined && values.seed !== undefined ? [optionName('seed')] : []),
  ];
  if (twice.length > 0) throw usage(`${twice[0]} is also set in ${optionName('set')}; give one of them`);
};

const rowOf = (row: TrainingRow, values: RunValues): TrainingRow => ({
  learningRate: values.learningRate ?? row.learningRate,
  batchSize: values.batchSize ?? row.batchSize,
  sequenceLength: values.sequenceLength ?? row.sequenceLength,
  weightDecay: values.weightDecay ?? row.weightDecay,
  maxGradNorm: values.maxGradNorm ?? row.maxGradNorm,
  schedule: values.schedule ?? row.schedule,
  warmup: values.warmup ?? row.warmup,
  beta2: values.beta2 ?? row.beta2,
});

/** Returns the samples between checkpoints: the paper's, or for the user's own data a share of the run. */
const checkpointEveryOf = ({ isOwnRow }: Preset, all: number): number =>
  isOwnRow ? Math.ceil(all / choices.own.checkpoints) : choices.checkpointEvery;

const warmupOf = (steps: number): number => Math.round(steps * choices.own.warmupShare);

const loraOf = (rank: number = choices.lora.rank) => ({ rank, alpha: rank * choices.lora.alphaPerRank });

/** @throws USAGE for a way that does not fit the preset or the partition */
const trainedPartOf = (
  way: TrainingWay,
  { categories }: Preset,
  partition: Partition | undefined,
): TrainedPart | undefined => {
  const hasBothKinds = categories.length > 1;
  if (way === 'plain' || way === 'revert') {
    if (way === 'plain' && partition !== undefined)
      throw usage(
        `${optionName('partition')} does not apply to plain, which trains all parameters for layer swapping`,
      );
    if (way === 'revert' && hasBothKinds)
      throw usage(
        `${optionName('way', 'revert')} needs one kind of data; the joint preset changes every layer for both`,
      );
    return undefined;
  }
  if (partition === undefined)
    throw usage(
      `${optionName('way', way)} needs ${optionName('partition')} FILE; \`${layerloomCommand('partition', 'BASE', '-o', 'FILE')}\` writes one`,
    );
  if ((way === 'simultaneous') !== hasBothKinds)
    throw usage(
      hasBothKinds
        ? `${optionName('way', 'freeze')} needs one kind of data; give ${optionName('way', 'simultaneous')} for the joint preset`
        : `${optionName('way', 'simultaneous')} needs both kinds of data; give ${optionName('preset', 'joint')}`,
    );
  if (way === 'freeze')
    return { partition, side: categories.some((of) => kindOf(of) === 'math') ? 'task' : 'language' };
  if (partition.parts.both.length > 0)
    throw usage(
      `${optionName('way', 'simultaneous')} needs a partition without parameters of both sides; make one with ${optionName('others')}`,
    );
  return { partition };
};

const checkTrainer = (trainer: Trainer, way: TrainingWay): void => {
  if (way === 'simultaneous' && trainer !== 'trl')
    throw usage(
      `${optionName('way', 'simultaneous')} is for ${optionName('trainer', 'trl')}; ${trainer} does not support it`,
    );
};

const stepsOf = (
  { batchSize, warmup, schedule }: TrainingRow,
  { samples, all, checkpointEvery }: Readonly<Record<'samples' | 'all' | 'checkpointEvery', number>>,
) => {
  const steps = all / batchSize;
  const decayed = schedule === 'wsd' ? steps * (1 - choices.decayShare) : steps;
  if (!Number.isInteger(steps) || !(decayed > warmup))
    throw invalidParameter(
      'samples',
      samples,
      Number.isInteger(steps)
        ? `samples for more steps than the warm-up's ${warmup}; these are for ${steps}`
        : `a multiple of the batch size ${batchSize}`,
    );
  const stepsPerCheckpoint = Math.max(1, Math.round(checkpointEvery / batchSize));
  return { steps, stepsPerCheckpoint: Math.min(steps, stepsPerCheckpoint) };
};

/** Multiplies short decimals without binary rounding errors. */
const scaled = (value: number, factor: number): number => Number((value * factor).toPrecision(12));
