import { layerloomCommand } from '../base/command-line.js';
import { LayerloomError } from '../base/errors.js';
import type { Partition, Side } from '../measure/partition/partition.js';
import { nearest } from '../recipe/nearest.js';
import { choices } from './choices.js';
import { type DataMix, dataMixOf } from './data-mix.js';
import type { Preset, PresetWithData, TrainingRow } from './preset.js';

/** Programs that configurations are written for. */
export const trainers = ['trl', 'axolotl', 'llama-factory'] as const;
export type Trainer = (typeof trainers)[number];

export const trainingMethods = ['full', 'lora'] as const;
export type TrainingMethod = (typeof trainingMethods)[number];

/** Ways of modular fine-tuning (the follow-up); `plain` is training of all parameters, for layer swapping. */
export const trainingWays = ['plain', 'revert', 'freeze', 'simultaneous'] as const;
export type TrainingWay = (typeof trainingWays)[number];

/** The training that `trainInit` writes configurations for. */
export interface TrainingParameters {
  /** `math-1` … `ben-3` (a row of Table 4), `joint` or `math-only`. */
  readonly preset: string;
  /** Default `trl`. */
  readonly trainer?: Trainer | undefined;
  /** The model to fine-tune: a directory, or a name on the hub. Default `meta-llama/Llama-3.1-8B`, as in the paper. */
  readonly base?: string | undefined;
  /** Default `full`. */
  readonly method?: TrainingMethod | undefined;
  /** Rank of LoRA. Default 16. */
  readonly rank?: number | undefined;
  /**
   * `plain` trains everything; `revert` too, and puts layers back afterwards; `freeze` trains the preset's part of a
   * partition only; `simultaneous` both parts in one run, each by its own data. Default `plain`.
   */
  readonly way?: TrainingWay | undefined;
  /**
   * The `partition.json` of `freeze` and `simultaneous`, and of `revert`, by default that of `partition`'s defaults.
   */
  readonly partition?: string | undefined;
  /**
   * Files of rows: `PATH` instead of the preset's data, `NAME=PATH` instead of one data set of it, `math=PATH` or
   * `language=PATH` instead of all data of that kind.
   */
  readonly data?: readonly string[] | undefined;
  /** Language of `joint`: `swh`, `tel`, `ben` or `jpn`. Default `swh`. */
  readonly language?: string | undefined;
  /** Samples of the run, of each kind of data for `joint`. Default 40,000. */
  readonly samples?: number | undefined;
  /** Seed of sampling and of the order. Default: the number of the run. */
  readonly seed?: number | undefined;
  /** Devices that a batch is divided among. Default 4, for LoRA 1. */
  readonly devices?: number | undefined;
}

/** A partition, and the side whose parameters a run trains; without it both sides, each by its own data. */
export interface TrainedPart {
  readonly partition: Partition;
  readonly side?: Side;
}

/** A training with every default and number decided: what writers of configurations read. */
export interface TrainingRun {
  readonly name: string;
  readonly preset: Preset;
  readonly trainer: Trainer;
  readonly base: string;
  readonly way: TrainingWay;
  /** The parameters that train; absent where all do. */
  readonly part?: TrainedPart;
  /** The partition that was given, by which parts train or are put back. */
  readonly partition?: Partition;
  /** The row of Table 4. The learning rate of LoRA is another. */
  readonly row: TrainingRow;
  readonly learningRate: number;
  /** Absent for full fine-tuning. */
  readonly lora?: { readonly rank: number; readonly alpha: number };
  readonly mix: DataMix;
  readonly seed: number;
  readonly devices: number;
  readonly batchPerDevice: number;
  /** Optimiser steps of the run. */
  readonly steps: number;
  /** Optimiser steps between checkpoints. */
  readonly stepsPerCheckpoint: number;
  /** Optimiser steps in which WSD decays; absent for the linear schedule. */
  readonly decaySteps?: number;
}

/**
 * Decides everything that a configuration says.
 *
 * @throws LayerloomError INVALID_PARAMETER, USAGE
 */
export const trainingRunOf = (
  known: PresetWithData,
  parameters: TrainingParameters,
  partition: Partition | undefined,
): TrainingRun => {
  const { preset } = known;
  const { base = choices.base, rank = choices.lora.rank } = parameters;
  const trainer = oneOf('trainer', parameters.trainer ?? 'trl', trainers);
  const method = oneOf('method', parameters.method ?? 'full', trainingMethods);
  const way = oneOf('way', parameters.way ?? 'plain', trainingWays);
  const { row, number } = preset;
  if (parameters.rank !== undefined && method !== 'lora')
    throw new LayerloomError('USAGE', { reason: '--rank is for LoRA; give --method lora too' });

  const part = trainedPartOf(way, preset, partition);
  checkTrainer(trainer, way);

  const samples = positive('samples', parameters.samples ?? choices.samples);
  const mix = dataMixOf(known, { samples, data: parameters.data ?? [] });
  const { steps, stepsPerCheckpoint } = stepsOf(row, samples, samples * mix.parts.length);
  const decaySteps = row.schedule === 'wsd' ? Math.round(steps * choices.decayShare) : undefined;

  const usual = way === 'simultaneous' ? 1 : choices.devices[method];
  const devices = positive('devices', parameters.devices ?? usual);
  if (way === 'simultaneous' && devices > 1)
    throw invalid('devices', devices, '1 for simultaneous training, whose steps each have one kind of data');
  if (row.batchSize % devices !== 0)
    throw invalid('devices', devices, `a divisor of the batch size ${row.batchSize}`);
  return {
    name: parameters.preset,
    preset,
    trainer,
    base,
    way,
    ...(part === undefined ? {} : { part }),
    ...(partition === undefined ? {} : { partition }),
    row,
    learningRate:
      method === 'lora' ? scaled(row.learningRate, choices.lora.learningRateFactor) : row.learningRate,
    ...(method === 'lora'
      ? { lora: { rank: positive('rank', rank), alpha: rank * choices.lora.alphaPerRank } }
      : {}),
    mix,
    seed: natural('seed', parameters.seed ?? number),
    devices,
    batchPerDevice: row.batchSize / devices,
    steps,
    stepsPerCheckpoint,
    ...(decaySteps === undefined ? {} : { decaySteps }),
  };
};

const usage = (reason: string): LayerloomError => new LayerloomError('USAGE', { reason });

/** @throws LayerloomError USAGE for a way that the preset or the partition does not fit */
const trainedPartOf = (
  way: TrainingWay,
  { categories }: Preset,
  partition: Partition | undefined,
): TrainedPart | undefined => {
  const hasBothKinds = categories.length > 1;
  if (way === 'plain' || way === 'revert') {
    if (way === 'plain' && partition !== undefined)
      throw usage('--partition is for the other ways; plain trains all parameters, for layer swapping');
    if (way === 'revert' && hasBothKinds)
      throw usage('--way revert is for one kind of data; the joint preset changes every layer for both');
    return undefined;
  }
  if (partition === undefined)
    throw usage(
      `--way ${way} needs --partition FILE; \`${layerloomCommand('partition', 'BASE', '-o', 'FILE')}\` writes one`,
    );
  if ((way === 'simultaneous') !== hasBothKinds)
    throw usage(
      hasBothKinds
        ? '--way freeze is for one kind of data; give --way simultaneous for the joint preset'
        : '--way simultaneous needs both kinds of data; give --preset joint',
    );
  if (way === 'freeze') return { partition, side: categories[0] === 'math' ? 'task' : 'language' };
  if (partition.parts.both.length > 0)
    throw usage(
      '--way simultaneous needs a partition without parameters of both sides; make one with --others',
    );
  return { partition };
};

const checkTrainer = (trainer: Trainer, way: TrainingWay): void => {
  if (way === 'simultaneous' && trainer !== 'trl')
    throw usage(`--way simultaneous is for --trainer trl; ${trainer} has no such training`);
};

/** Returns the steps of a run and of its checkpoints. @throws LayerloomError INVALID_PARAMETER */
const stepsOf = ({ batchSize, warmup, schedule }: TrainingRow, samples: number, all: number) => {
  const steps = all / batchSize;
  const decayed = schedule === 'wsd' ? steps * (1 - choices.decayShare) : steps;
  if (!Number.isInteger(steps) || !(decayed > warmup))
    throw invalid(
      'samples',
      samples,
      `a multiple of the batch size ${batchSize}, for more steps than the warm-up's ${warmup}`,
    );
  return { steps, stepsPerCheckpoint: Math.min(steps, choices.checkpointEvery / batchSize) };
};

/** The product of a number of few digits, without the error of binary fractions. */
const scaled = (value: number, factor: number): number => Number((value * factor).toPrecision(12));

const oneOf = <Value extends string>(parameter: string, value: string, values: readonly Value[]): Value => {
  const found = values.find((each) => each === value);
  if (found !== undefined) return found;
  throw new LayerloomError('INVALID_PARAMETER', {
    parameter,
    value,
    expected: values.join(', '),
    nearest: nearest(value, values),
  });
};

const positive = (parameter: string, value: number): number => {
  if (!Number.isSafeInteger(value) || value < 1) throw invalid(parameter, value, 'a positive integer');
  return value;
};

const natural = (parameter: string, value: number): number => {
  if (!Number.isSafeInteger(value) || value < 0) throw invalid(parameter, value, 'an integer from 0');
  return value;
};

const invalid = (parameter: string, value: unknown, expected: string): LayerloomError =>
  new LayerloomError('INVALID_PARAMETER', { parameter, value, expected });
