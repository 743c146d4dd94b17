import { layerloomCommand } from '../../../core/base/errors/command-line.js';
import { llamaFactoryFreeze } from '../../../core/measure/partition/formats/llama-factory.js';
import { adaptedBy } from '../../../core/measure/partition/partition.js';
import { choices } from '../settings/choices.js';
import { preparedFile } from '../settings/data-mix.js';
import { headlineOf, notes, sourceOf } from '../settings/headline.js';
import { ours, type Setting, settingsText } from '../settings/settings.js';
import type { TrainingRun } from '../settings/training-run.js';
import { checkpointSettings, optimiserSettings, seedSettings } from './transformers-settings.js';

export const llamaFactoryConfig = (run: TrainingRun): string =>
  settingsText(headlineOf(run), [
    { title: 'Model', settings: modelSettings(run) },
    { title: 'Data', settings: dataSettings(run) },
    { title: 'Optimiser and schedule', settings: optimiserSettings(run, stableSteps(run)) },
    { title: 'Checkpoints and seeds', settings: [...checkpointSettings(run), ...seedSettings(run)] },
  ]);

/** Returns `dataset_info.json`, which registers the prepared file with LLaMA-Factory. */
export const datasetInfo = (): string =>
  `${JSON.stringify(
    { train: { file_name: 'train.jsonl', columns: { prompt: 'prompt', response: 'completion' } } },
    null,
    2,
  )}\n`;

export const datasetInfoFile = preparedFile.replace(/[^/]*$/, 'dataset_info.json');

const dataFolder = preparedFile.replace(/\/.*$/, '');

const modelSettings = (run: TrainingRun): Setting[] => [
  ['model_name_or_path', run.base],
  ['stage', 'sft'],
  ['do_train', true],
  ...trained(run),
  ['bf16', true, ours('computes in bfloat16 (autocast)')],
  [
    'pure_bf16',
    false,
    'ours: LLaMA-Factory then keeps trained weights in float32; steps of 1e-7 vanish in bfloat16',
  ],
];

const trained = ({ lora, part }: TrainingRun): Setting[] => {
  const source =
    part?.side === undefined
      ? undefined
      : `the part of the ${part.side}, by ${layerloomCommand('partition')}`;
  if (lora === undefined) {
    if (part?.side === undefined) return [['finetuning_type', 'full']];
    const { options } = llamaFactoryFreeze(part.partition, part.side);
    return Object.entries(options).map(([key, value]): Setting => [key, value, source]);
  }
  return [
    ['finetuning_type', 'lora'],
    ['lora_rank', lora.rank, ours()],
    ['lora_alpha', lora.alpha, ours(`${choices.lora.alphaPerRank} × rank`)],
    ['lora_dropout', choices.lora.dropout, ours()],
    [
      'lora_target',
      (part?.side === undefined ? choices.lora.targets : adaptedBy(part.partition, part.side)).join(','),
      source ?? ours('every linear module inside the layers'),
    ],
  ];
};

const dataSettings = (run: TrainingRun): Setting[] => [
  ['dataset_dir', dataFolder],
  ['dataset', 'train', 'dataset_info.json; the file is written by prepare_data.py'],
  [
    'template',
    'fewshot',
    ours('the prompt as it is; ends a completion by two line feeds and the end of text'),
  ],
  ['cutoff_len', run.row.sequenceLength, sourceOf(run, 'sequenceLength')],
  ['packing', false, notes.packing],
  ['train_on_prompt', false, notes.masking],
];

/** LLaMA-Factory's default keeps the rate stable for only a third of the steps after the warm-up. */
const stableSteps = ({ steps, row, decaySteps }: TrainingRun): Record<string, number> =>
  decaySteps === undefined ? {} : { num_stable_steps: steps - row.warmup - decaySteps };
