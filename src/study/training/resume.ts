import type { Trainer } from './choices.js';
import type { TrainingRun } from './training-run.js';

/** How each trainer is told the checkpoint to go on from. */
const words: Readonly<Record<Trainer, (checkpoint: string) => string>> = {
  trl: (checkpoint) => `--resume_from_checkpoint ${checkpoint}`,
  axolotl: (checkpoint) => `--resume-from-checkpoint ${checkpoint}`,
  'llama-factory': (checkpoint) => `resume_from_checkpoint=${checkpoint}`,
};

/** Returns the words behind a training's command that let it go on, of a checkpoint in the shell's words. */
export const resumeWords = ({ trainer }: Pick<TrainingRun, 'trainer'>, checkpoint: string): string =>
  words[trainer](checkpoint);

/**
 * True for a training that can go on from a checkpoint: all but one whose processes hold shards of the model that the
 * trainer does not know of.
 */
export const canResume = ({ way, devices, lora }: Pick<TrainingRun, 'way' | 'devices' | 'lora'>): boolean =>
  !(way === 'simultaneous' && devices > 1 && lora === undefined);
