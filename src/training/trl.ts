import { choices } from './choices.js';
import { preparedFile } from './data-mix.js';
import { headlineOf, notes } from './headline.js';
import { ours, printed, type Section, type Setting, settingsText } from './settings.js';
import type { TrainingRun } from './training-run.js';

/** Returns the configuration for `trl sft --config` (TRL 1.16: ScriptArguments, SFTConfig, ModelConfig). */
export const trlConfig = (run: TrainingRun): string =>
  settingsText(headlineOf(run), [
    { title: 'Model', settings: modelSettings(run) },
    { title: 'Data', settings: dataSettings(run) },
    optimiser(run),
    { title: 'Checkpoints and seeds', settings: checkpointSettings(run) },
  ]);

const modelSettings = ({ base, lora }: TrainingRun): Setting[] =>
  lora === undefined
    ? [
        ['model_name_or_path', base],
        ['dtype', 'float32', notes.fullPrecision],
        ['bf16', true, ours('computes in bfloat16 (autocast) from the float32 weights')],
      ]
    : [
        ['model_name_or_path', base],
        ['dtype', 'bfloat16', ours('the base stays frozen; PEFT keeps the adapter in float32')],
        ['bf16', true, ours('computes in bfloat16 (autocast)')],
        ['use_peft', true],
        ['lora_r', lora.rank, ours()],
        ['lora_alpha', lora.alpha, ours(`${choices.lora.alphaPerRank} × rank`)],
        ['lora_dropout', choices.lora.dropout, ours()],
        ['lora_target_modules', choices.lora.targets, ours('every linear module inside the layers')],
      ];

const dataSettings = ({ row }: TrainingRun): Setting[] => [
  ['datasets', [{ path: 'json', data_files: preparedFile, split: 'train' }], 'written by prepare_data.py'],
  ['max_length', row.sequenceLength, printed],
  ['packing', false, notes.packing],
  ['completion_only_loss', true, notes.masking],
];

const optimiser = (run: TrainingRun): Section => {
  const { row, decaySteps } = run;
  return {
    title: 'Optimiser and schedule',
    settings: [
      ['learning_rate', run.learningRate, notes.learningRate(run)],
      ['lr_scheduler_type', decaySteps === undefined ? 'linear' : 'warmup_stable_decay', printed],
      ...(decaySteps === undefined
        ? []
        : ([
            ['lr_scheduler_kwargs', { num_decay_steps: decaySteps, decay_type: 'linear' }, notes.decay],
          ] satisfies Setting[])),
      ['warmup_steps', row.warmup, notes.warmup],
      ['per_device_train_batch_size', run.batchPerDevice, notes.devices(run)],
      ['gradient_accumulation_steps', 1],
      ['max_steps', run.steps, notes.steps(run)],
      ['optim', 'adamw_torch', ours('the table gives beta2 alone')],
      ['adam_beta1', choices.beta1, notes.beta1],
      ['adam_beta2', row.beta2, printed],
      ['adam_epsilon', choices.epsilon, ours()],
      ['weight_decay', row.weightDecay, printed],
      ['max_grad_norm', row.maxGradNorm, printed],
    ],
  };
};

const checkpointSettings = ({ seed, stepsPerCheckpoint }: TrainingRun): Setting[] => [
  ['output_dir', 'checkpoints'],
  ['save_strategy', 'steps'],
  ['save_steps', stepsPerCheckpoint, notes.checkpoints],
  ['save_only_model', true, notes.checkpointSize],
  ['seed', seed, ours('the paper gives each run another')],
  ['data_seed', seed, ours('the order of the samples')],
  ['logging_steps', 10],
  ['report_to', 'none'],
];

/** Returns the configuration of `accelerate`, which shards the model over several devices. */
export const accelerateConfig = ({ devices }: TrainingRun): string =>
  settingsText(
    [
      'Shards weights, gradients and the state of the optimiser over the devices of one machine (FSDP 2).',
      'Ours: full fine-tuning of 8B in float32 needs 16 bytes a parameter, 128 GB in all.',
    ],
    [
      {
        title: 'accelerate',
        settings: [
          ['compute_environment', 'LOCAL_MACHINE'],
          ['distributed_type', 'FSDP'],
          [
            'fsdp_config',
            {
              fsdp_version: 2,
              fsdp_auto_wrap_policy: 'TRANSFORMER_BASED_WRAP',
              fsdp_reshard_after_forward: true,
              fsdp_cpu_ram_efficient_loading: true,
              fsdp_activation_checkpointing: false,
              fsdp_offload_params: false,
              fsdp_state_dict_type: 'FULL_STATE_DICT',
            },
          ],
          ['mixed_precision', 'bf16'],
          ['num_machines', 1],
          ['num_processes', devices],
          ['machine_rank', 0],
          ['main_training_function', 'main'],
          ['rdzv_backend', 'static'],
          ['same_network', true],
          ['use_cpu', false],
          ['debug', false],
        ],
      },
    ],
  );
