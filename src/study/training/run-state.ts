import { progressWords } from '../../core/base/progress.js';

/**
 * States of a run, with their words in messages. `absent` before the first start, `unfinished` while nothing trains it and
 * a checkpoint is missing, `diverged` if its loss is no number or rose, `foreign` if a checkpoint is not of the training's
 * base.
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
  /** Checkpoints, by the trainer: `checkpoint-STEP`. */
  checkpoints: 'checkpoints',
  /** Begins the names of folders of what was set aside. */
  aside: 'set-aside',
  /** The empty file that says that a run has ended well. */
  ended: 'trained',
  /** Who trains it now. */
  lock: '.train-lock',
  /** A line for each beginning and end of a start. */
  starts: 'starts.log',
  /** The log that transformers' Trainer writes last into each checkpoint. */
  log: 'trainer_state.json',
} as const;

/** How transformers' Trainer goes on from a checkpoint. */
export const trainerFiles = {
  /** Says that transformers' Trainer wrote the checkpoint, which then needs the two below to go on. */
  mark: 'training_args.bin',
  scheduler: 'scheduler.pt',
  optimisers: ['optimizer.pt', 'optimizer.bin'],
  /** Of FSDP: the weights once more. */
  weightsAgain: 'pytorch_model_fsdp.bin',
  /** Weights of a checkpoint of one file. */
  weights: ['model.safetensors', 'adapter_model.safetensors', 'pytorch_model.bin', 'adapter_model.bin'],
} as const;

/** Seconds between two signs of life of a start, and those after which a silent one of another host is dead. */
export const lockSeconds = { beat: 10, stale: 130 } as const;
