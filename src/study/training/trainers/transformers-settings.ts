import { choices } from '../settings/choices.js';
import { notes, sourceOf } from '../settings/headline.js';
import { canResume } from '../settings/resume.js';
import { ours, type Setting } from '../settings/settings.js';
import type { TrainingRun } from '../settings/training-run.js';

/** Optimiser and schedule as in transformers' `TrainingArguments`, for TRL and LLaMA-Factory. */
export const optimiserSettings = (
  run: TrainingRun,
  wsd: Readonly<Record<string, number>> = {},
): Setting[] => {
  const { row, decaySteps } = run;
  return [
    ['learning_rate', run.learningRate, notes.learningRate(run)],
    ['lr_scheduler_type', scheduleOf(run), sourceOf(run, 'schedule')],
    ...(decaySteps === undefined
      ? []
      : ([['lr_scheduler_kwargs', { ...wsdOf(decaySteps), ...wsd }, notes.decay]] satisfies Setting[])),
    ['warmup_steps', row.warmup, notes.warmup(run)],
    ['per_device_train_batch_size', run.batchPerDevice, notes.devices(run)],
    ['gradient_accumulation_steps', 1],
    ['max_steps', run.steps, notes.steps(run)],
    ['optim', 'adamw_torch', ours('the table gives only beta2')],
    ...adamSettings(run),
  ];
};

export const adamSettings = (run: TrainingRun): Setting[] => [
  ['adam_beta1', choices.beta1, notes.beta1],
  ['adam_beta2', run.row.beta2, sourceOf(run, 'beta2')],
  ['adam_epsilon', choices.epsilon, ours()],
  ['weight_decay', run.row.weightDecay, sourceOf(run, 'weightDecay')],
  ['max_grad_norm', run.row.maxGradNorm, sourceOf(run, 'maxGradNorm')],
];

export const scheduleOf = ({ row }: TrainingRun): string =>
  row.schedule === 'wsd' ? 'warmup_stable_decay' : 'linear';

export const wsdOf = (decaySteps: number) => ({ num_decay_steps: decaySteps, decay_type: 'linear' });

/** Returns an interval that logs at least twenty losses, enough to show whether they fall. */
const loggingStepsOf = ({ steps }: TrainingRun): number => Math.max(1, Math.min(10, Math.floor(steps / 20)));

export const checkpointSettings = (run: TrainingRun): Setting[] => [
  ['output_dir', 'checkpoints'],
  ['save_strategy', 'steps'],
  ['save_steps', run.stepsPerCheckpoint, notes.checkpoints(run)],
  ['save_only_model', !canResume(run), canResume(run) ? notes.state : notes.noState],
  ['logging_steps', loggingStepsOf(run)],
];

export const seedSettings = ({ seed }: TrainingRun): Setting[] => [
  ['seed', seed, ours('the paper gives each run another seed')],
  ['data_seed', seed, ours('the order of the samples')],
  ['report_to', 'none'],
];
