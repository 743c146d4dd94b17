import { relative, resolve } from 'node:path';
import { itemAt } from '../core/base/errors/lookup.js';
import { existsIn } from '../core/base/files/exists.js';
import { requireOut } from '../core/base/files/require-out.js';
import { checkApartFrom } from '../core/engine/output/apart.js';
import { hashesOfFiles } from '../study/evaluation/data/trained-texts.js';
import { trainingPreset } from '../study/paper/training.js';
import { checkDataFiles } from '../study/training/check-files.js';
import { estimateOf, type TrainingEstimate } from '../study/training/estimate.js';
import {
  type Instruction,
  instructionsOf,
  type Sequel,
  sequelOf,
  sequelOfSweep,
  sweepCommands,
} from '../study/training/instructions.js';
import { readPartitionOf } from '../study/training/partition-of-run.js';
import { filesOf } from '../study/training/settings/data-mix.js';
import { sweptRunsOf } from '../study/training/settings/run-values.js';
import { type TrainingRun, trainingRunOf } from '../study/training/settings/training-run.js';
import type { TrainingParameters } from '../study/training/settings/training-settings.js';
import { writeTraining } from '../study/training/write-training.js';

/** Options of `trainInit` that do not change the files' contents. */
export interface TrainInitOptions {
  readonly out: string;
}

/** Directory of a run or a sweep, with the runs' settings. */
export interface TrainingFiles {
  readonly out: string;
  readonly files: readonly string[];
  /** Commands in order, with purposes, for the run's directory; for a sweep, the working directory. */
  readonly commands: readonly Instruction[];
  /**
   * Advice for after training: the command that merges the expert; capitals stand for the other expert.
   */
  readonly next: Sequel;
  readonly run: TrainingRun;
  /** All runs; if there are several, each has its own folder. */
  readonly runs: readonly TrainingRun[];
  /** Disk, memory and hours; absent if the base cannot be read on this machine. */
  readonly estimate?: TrainingEstimate;
  readonly notEstimated?: string;
}

/**
 * Writes the files for training one of the paper's experts, or a baseline: a trainer's configuration with
 * Table 4's row, the mix of Table 3's data, a program that prepares the data, and the commands to type.
 * Values that the paper does not state are marked `ours`.
 *
 * @throws LayerloomError INVALID_PARAMETER, USAGE; READ_FAILED, DATA_INVALID for files of data;
 *   PARTITION_INVALID for a partition of another base, PARTITION_UNSUPPORTED for one that the trainer cannot
 *   freeze; OUTPUT_INVALID if the directory is not empty; WRITE_FAILED
 */
export const trainInit = async (
  parameters: TrainingParameters,
  options: TrainInitOptions,
): Promise<TrainingFiles> => {
  requireOut(options);
  const { base } = parameters;
  // Relative paths become absolute, because the trainer runs in the new directory.
  const isHere = base !== undefined && (await existsIn('.', base));
  const model = isHere ? resolve(base) : base;
  const partition =
    parameters.partition === undefined
      ? undefined
      : await readPartitionOf(parameters.partition, model === undefined ? undefined : { model, isHere });
  const preset = trainingPreset(parameters.preset, parameters.language);
  const given = { ...parameters, base: model ?? partition?.base.path };
  const runs = sweptRunsOf(parameters.set ?? {}).map((swept) =>
    trainingRunOf(preset, given, partition, swept),
  );
  const run = itemAt(runs, 0);
  const data = [...new Set(runs.flatMap(({ mix }) => filesOf(mix)))];
  await checkDataFiles(data);
  const out = resolve(options.out);
  await checkApartFrom(out, [run.base]);
  const estimate = await estimateOf(runs, run.base);
  const files = await writeTraining(runs, run.base, await hashesOfFiles(data), out);
  const commands =
    runs.length === 1 ? instructionsOf(run) : sweepCommands(runs, relative(process.cwd(), out) || '.');
  return {
    out,
    files,
    commands,
    next: runs.length === 1 ? sequelOf(run) : sequelOfSweep,
    run,
    runs,
    ...(typeof estimate === 'string' ? { notEstimated: estimate } : { estimate }),
  };
};
