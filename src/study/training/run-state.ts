import { progressWords } from '../../core/base/progress.js';

/**
 * States of a run, with their words in messages. `absent`: before the first start. `unfinished`: stopped,
 * with a checkpoint missing. `diverged`: the loss is NaN, infinite or rose. `foreign`: a checkpoint does not
 * fit the training's base.
 */
export const runStates = {
  ...progressWords,
  diverged: 'diverged',
  foreign: 'foreign',
} as const;

export type RunState = keyof typeof runStates;

/** Names in a run's directory, which its script writes and `train status` reads. */
export const runFiles = {
  script: 'train.sh',
  checkpoints: 'checkpoints',
  aside: 'set-aside',
  /** An empty file that marks a successful end. */
  ended: 'trained',
  lock: '.train-lock',
  /** A log with a line for each start and its end. */
  starts: 'starts.log',
  /** The log that transformers' Trainer writes last into each checkpoint. */
  log: 'trainer_state.json',
} as const;

export const trainerFiles = {
  /** Marks a checkpoint of transformers' Trainer, which needs scheduler and optimiser to resume. */
  mark: 'training_args.bin',
  scheduler: 'scheduler.pt',
  optimisers: ['optimizer.pt', 'optimizer.bin'],
  /** A second copy of the weights, which FSDP writes. */
  weightsAgain: 'pytorch_model_fsdp.bin',
  weights: ['model.safetensors', 'adapter_model.safetensors', 'pytorch_model.bin', 'adapter_model.bin'],
} as const;

/**
 * Seconds between heartbeats of a start, and seconds after which a silent start on another host counts as
 * dead.
 */
export const lockSeconds = { beat: 10, stale: 130 } as const;
