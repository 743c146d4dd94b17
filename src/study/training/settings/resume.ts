import type { Trainer } from './choices.js';
import type { TrainingRun } from './training-run.js';

const words: Readonly<Record<Trainer, (checkpoint: string) => string>> = {
  trl: (checkpoint) => `--resume_from_checkpoint ${checkpoint}`,
  axolotl: (checkpoint) => `--resume-from-checkpoint ${checkpoint}`,
  'llama-factory': (checkpoint) => `resume_from_checkpoint=${checkpoint}`,
};

/** Returns the argument that resumes a training; `checkpoint` is a shell word. */
export const resumeWords = ({ trainer }: Pick<TrainingRun, 'trainer'>, checkpoint: string): string =>
  words[trainer](checkpoint);

/**
 * True if a run can resume; false only if processes hold shards of the model that the trainer does not know
 * about.
 */
export const canResume = ({ way, devices, lora }: Pick<TrainingRun, 'way' | 'devices' | 'lora'>): boolean =>
  !(way === 'simultaneous' && devices > 1 && lora === undefined);
