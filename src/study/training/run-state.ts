import { progressWords } from '../../core/base/progress.js';

/**
 * States of a run, in words for messages. `absent`: not started. `unfinished`: stopped with a checkpoint
 * missing. `diverged`: the loss is NaN, infinite or rose. `foreign`: a checkpoint does not fit the training's
 * base.
 */
export const runStates = { ...progressWords, diverged: 'diverged', foreign: 'foreign' } as const;

export type RunState = keyof typeof runStates;

/** Files in a run's directory that its script writes and `train status` reads. */
export const runFiles = {
  script: 'train.sh',
  checkpoints: 'checkpoints',
  aside: 'set-aside',
  /** An empty file that marks a successful end. */
  ended: 'trained',
  lock: '.train-lock',
  /** A log with a line per start and its end. */
  starts: 'starts.log',
  /** A log that transformers' Trainer writes last in each checkpoint. */
  log: 'trainer_state.json',
} as const;

export const trainerFiles = {
  /** Marks a checkpoint of transformers' Trainer, which resumes only with scheduler and optimiser states. */
  mark: 'training_args.bin',
  scheduler: 'scheduler.pt',
  optimisers: ['optimizer.pt', 'optimizer.bin'],
  /** FSDP's second copy of the weights. */
  weightsAgain: 'pytorch_model_fsdp.bin',
  weights: ['model.safetensors', 'adapter_model.safetensors', 'pytorch_model.bin', 'adapter_model.bin'],
} as const;

/** Seconds between heartbeats, and seconds without one after which a start on another host counts as dead. */
export const lockSeconds = { beat: 10, stale: 130 } as const;
