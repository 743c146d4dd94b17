import { progressWords } from '../../core/base/progress.js';

/**
 * States of a run, with words for messages. `absent`: not started. `unfinished`: stopped before all
 * checkpoints exist. `diverged`: the loss is NaN or infinite, or rose. `foreign`: a checkpoint does not fit
 * the training's base.
 */
export const runStates = { ...progressWords, diverged: 'diverged', foreign: 'foreign' } as const;

export type RunState = keyof typeof runStates;

/** Files in a run's directory that its script writes and `train status` reads. */
export const runFiles = {
  script: 'train.sh',
  checkpoints: 'checkpoints',
  aside: 'set-aside',
  /** Empty file that marks a successful end. */
  ended: 'trained',
  lock: '.train-lock',
  /** Log with one line for each start and each end. */
  starts: 'starts.log',
  /** Log in each checkpoint. Transformers' Trainer writes it last. */
  log: 'trainer_state.json',
} as const;

export const trainerFiles = {
  /** Marks a checkpoint of transformers' Trainer. To resume it, scheduler and optimiser states are needed. */
  mark: 'training_args.bin',
  scheduler: 'scheduler.pt',
  optimisers: ['optimizer.pt', 'optimizer.bin'],
  /** FSDP's second copy of the weights. */
  weightsAgain: 'pytorch_model_fsdp.bin',
  weights: ['model.safetensors', 'adapter_model.safetensors', 'pytorch_model.bin', 'adapter_model.bin'],
} as const;

/** Seconds between heartbeats, and seconds of silence after which a run on another host counts as dead. */
export const lockSeconds = { beat: 10, stale: 130 } as const;
