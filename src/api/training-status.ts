import { relative } from 'node:path';
import { argument, layerloomCommand } from '../core/base/errors/command-line.js';
import { type TrainingStatus as Found, trainingStatusOf } from '../study/training/status.js';

/** Runs of trainings, and the next command. */
export interface TrainingStatus extends Found {
  /** Command for an experiment that scores the usable checkpoints, if there are any. */
  readonly next?: string;
}

/**
 * Returns the state of all runs of trainings, and which checkpoints can be used: complete ones that fit the
 * base and come from a run whose loss fell.
 *
 * @param directories of `trainInit`
 * @throws LayerloomError TRAINING_INVALID
 */
export const trainingStatus = async (directories: readonly string[]): Promise<TrainingStatus> => {
  const found = await trainingStatusOf(directories);
  if (found.runs.every(({ state }) => state !== 'finished')) return found;
  const named = directories.map((directory) => relative(process.cwd(), directory) || '.');
  return {
    ...found,
    next: layerloomCommand(
      ...(['experiment', 'init', '--preset', 'checkpoints'] as const),
      ...(['--training', ...named.map(argument), '-o', 'checkpoints.yaml'] as const),
    ),
  };
};
