import { layerloomCommand } from '../../../core/base/errors/command-line.js';
import { axolotlOptions } from '../../../core/measure/partition/formats/axolotl.js';
import { peftTargets } from '../../../core/measure/partition/formats/peft.js';
import { choices } from '../settings/choices.js';
import { preparedFile } from '../settings/data-mix.js';
import { headlineOf, notes, sourceOf } from '../settings/headline.js';
import { ours, type Setting, settingsText } from '../settings/settings.js';
import type { TrainingRun } from '../settings/training-run.js';
import { adamSettings, checkpointSettings, scheduleOf, wsdOf } from './transformers-settings.js';

export const axolotlConfig = (run: TrainingRun): string =>
  settingsText(headlineOf(run), [
    { title: 'Model', settings: [['base_model', run.base], ...precision(run), ...trained(run)] },
    { title: 'Data', settings: dataSettings(run) },
    { title: 'Optimiser and schedule', settings: optimiser(run) },
    { title: 'Checkpoints and seeds', settings: [...checkpointSettings(run), seedSetting(run)] },
    { title: 'Devices', settings: devices(run) },
  ]);

const precision = ({ lora }: TrainingRun): Setting[] =>
  lora === undefined
    ? [
        [
          'bf16',
          false,
          'ours: with bf16 axolotl loads the weights in bfloat16, in which steps of 1e-7 vanish',
        ],
        ['fp16', false],
        ['tf32', true, ours('multiplies float32 matrices faster')],
        ['gradient_checkpointing', true, notes.checkpointing],
      ]
    : [
        ['bf16', true, ours('the base stays frozen')],
        ['gradient_checkpointing', true, notes.checkpointing],
      ];

const trained = ({ lora, part }: TrainingRun): Setting[] => {
  const source =
    part?.side === undefined
      ? undefined
      : `the part of the ${part.side}, by ${layerloomCommand('partition')}`;
  if (lora === undefined)
    return part?.side === undefined
      ? []
      : [['unfrozen_parameters', axolotlOptions(part.partition, part.side).unfrozen_parameters, source]];
  const targets =
    part?.side === undefined
      ? { target_modules: choices.lora.targets }
      : peftTargets(part.partition, part.side);
  return [
    ['adapter', 'lora'],
    ['lora_r', lora.rank, ours()],
    ['lora_alpha', lora.alpha, ours(`${choices.lora.alphaPerRank} × rank`)],
    ['lora_dropout', choices.lora.dropout, ours()],
    ['lora_target_modules', targets.target_modules, source ?? ours('every linear module inside the layers')],
    ...('layers_to_transform' in targets && targets.layers_to_transform !== undefined
      ? ([
          ['peft_layers_to_transform', targets.layers_to_transform, source],
          ['peft_layers_pattern', [targets.layers_pattern]],
        ] satisfies Setting[])
      : []),
  ];
};

const isLlama3 = /llama-3[^/]*$/i;

const dataSettings = (run: TrainingRun): Setting[] => [
  [
    'datasets',
    [
      {
        path: preparedFile,
        ds_type: 'json',
        type: {
          field_instruction: 'prompt',
          field_output: 'completion',
          format: '{instruction}',
          no_input_format: '{instruction}',
        },
      },
    ],
    'written by prepare_data.py',
  ],
  ['dataset_prepared_path', 'data/prepared'],
  ['sequence_len', run.row.sequenceLength, sourceOf(run, 'sequenceLength')],
  ['sample_packing', false, notes.packing],
  ['train_on_inputs', false, notes.masking],
  ...(isLlama3.test(run.base)
    ? ([
        ['special_tokens', { pad_token: '<|end_of_text|>' }, ours('Llama 3 has no token for padding')],
      ] satisfies Setting[])
    : []),
];

const optimiser = (run: TrainingRun): Setting[] => {
  const { row, decaySteps } = run;
  return [
    ['learning_rate', run.learningRate, notes.learningRate(run)],
    ['lr_scheduler', scheduleOf(run), sourceOf(run, 'schedule')],
    ...(decaySteps === undefined
      ? []
      : ([['lr_scheduler_kwargs', wsdOf(decaySteps), notes.decay]] satisfies Setting[])),
    ['warmup_steps', row.warmup, notes.warmup(run)],
    ['micro_batch_size', run.batchPerDevice, notes.devices(run)],
    ['gradient_accumulation_steps', 1],
    ['max_steps', run.steps, notes.steps(run)],
    ['optimizer', 'adamw_torch', ours('the table gives only beta2')],
    ...adamSettings(run),
  ];
};

const seedSetting = ({ seed }: TrainingRun): Setting => [
  'seed',
  seed,
  ours('the paper gives each run another seed; used for the order of samples too'),
];

const devices = ({ devices: count }: TrainingRun): Setting[] =>
  count === 1
    ? []
    : [
        ['fsdp_version', 2],
        [
          'fsdp_config',
          {
            auto_wrap_policy: 'TRANSFORMER_BASED_WRAP',
            reshard_after_forward: true,
            cpu_ram_efficient_loading: true,
            offload_params: false,
            state_dict_type: 'FULL_STATE_DICT',
          },
          ours('shards the weights over the devices; start it on as many as the note on the batch size says'),
        ],
      ];
