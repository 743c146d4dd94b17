import type { Trainer } from './choices.js';
import type { TrainingRun } from './training-run.js';

const words: Readonly<Record<Trainer, (checkpoint: string) => string>> = {
  trl: (checkpoint) => `--resume_from_checkpoint ${checkpoint}`,
  axolotl: (checkpoint) => `--resume-from-checkpoint ${checkpoint}`,
  'llama-factory': (checkpoint) => `resume_from_checkpoint=${checkpoint}`,
};

export const resumeWords = ({ trainer }: Pick<TrainingRun, 'trainer'>, checkpoint: string): string =>
  words[trainer](checkpoint);

/** True if a run can resume; false if processes hold model shards that the trainer does not know about. */
export const canResume = ({ way, devices, lora }: Pick<TrainingRun, 'way' | 'devices' | 'lora'>): boolean =>
  !(way === 'simultaneous' && devices > 1 && lora === undefined);
