import { relative } from 'node:path';
import { argument, layerloomCommand } from '../core/base/command-line.js';
import { type TrainingStatus as Found, trainingStatusOf } from '../study/training/status.js';

/** The runs of trainings, and what to type next. */
export interface TrainingStatus extends Found {
  /** The command that puts the whole checkpoints into an experiment, to be scored; absent without any. */
  readonly next?: string;
}

/**
 * Says which runs of trainings are there and which of their checkpoints can be used: whole, of the base, and of a run whose loss
 * fell.
 *
 * @param directories as `trainInit` wrote them
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
