import { layerloomCommand } from '../../../core/base/errors/command-line.js';
import { adaptedBy, isMixture, trainedBy } from '../../../core/measure/partition/partition.js';
import { wholePattern } from '../../../core/measure/partition/regexes.js';
import { choices } from '../settings/choices.js';
import { preparedFile, preparedPart } from '../settings/data-mix.js';
import { headlineOf, notes, sourceOf } from '../settings/headline.js';
import { ours, type Setting, settingsText } from '../settings/settings.js';
import type { TrainingRun } from '../settings/training-run.js';
import { checkpointSettings, optimiserSettings, seedSettings } from './transformers-settings.js';

export const partitionCopy = 'partition.json';

/** Returns the program that trains a run; undefined for TRL's own command. */
export const trlProgram = ({
  way,
  part,
  lora,
}: TrainingRun): 'train_part.py' | 'train_simultaneous.py' | undefined =>
  way === 'simultaneous'
    ? 'train_simultaneous.py'
    : part !== undefined && lora === undefined
      ? 'train_part.py'
      : undefined;

/**
 * Returns the configuration for `trl sft --config` (TRL 1.16: ScriptArguments, SFTConfig, ModelConfig), or
 * for layerloom's training programs.
 */
export const trlConfig = (run: TrainingRun): string =>
  settingsText(headlineOf(run), [
    { title: 'Model', settings: modelSettings(run) },
    { title: 'The part that trains', settings: partSettings(run) },
    { title: 'Data', settings: run.way === 'simultaneous' ? bothDataSettings(run) : dataSettings(run) },
    { title: 'Optimiser and schedule', settings: optimiserSettings(run) },
    { title: 'Checkpoints and seeds', settings: [...checkpointSettings(run), ...seedSettings(run)] },
  ]);

const partSettings = (run: TrainingRun): Setting[] =>
  trlProgram(run) === undefined || run.part === undefined
    ? []
    : [
        ['partition', partitionCopy, `by ${layerloomCommand('partition')}`],
        ...(run.part.side === undefined
          ? []
          : ([['side', run.part.side, 'all other parameters stay frozen']] satisfies Setting[])),
      ];

const bothDataSettings = (run: TrainingRun): Setting[] => [
  ['math_data', preparedPart({ kind: 'math' }), 'written by prepare_data.py'],
  ['language_data', preparedPart({ kind: 'language' })],
  ['max_length', run.row.sequenceLength, sourceOf(run, 'sequenceLength')],
];

/** Modules that LoRA adapts. TRL reads a list with one item as a regular expression for whole names. */
const targetsOf = ({ part }: TrainingRun): Setting => {
  if (part?.side === undefined)
    return ['lora_target_modules', choices.lora.targets, ours('every linear module inside the layers')];
  const { partition, side } = part;
  const adapted = adaptedBy(partition, side);
  return [
    'lora_target_modules',
    isMixture(trainedBy(partition, side)) ? adapted : [wholePattern(partition, adapted)],
    `the part of the ${side}, by ${layerloomCommand('partition')}`,
  ];
};

const slow = ours('processors are slow in bfloat16');

const onProcessor: readonly Setting[] = [
  ['use_cpu', true],
  ['bf16', false, slow],
];

const modelSettings = (run: TrainingRun): Setting[] => {
  const { base, lora, cpu } = run;
  return lora === undefined
    ? [
        ['model_name_or_path', base],
        ['dtype', 'float32', notes.fullPrecision],
        ...(cpu
          ? onProcessor
          : ([
              ['bf16', true, ours('computes in bfloat16 (autocast) from the float32 weights')],
            ] satisfies Setting[])),
      ]
    : [
        ['model_name_or_path', base],
        ...(cpu
          ? ([['dtype', 'float32', slow], ...onProcessor] satisfies Setting[])
          : ([
              ['dtype', 'bfloat16', ours('the base stays frozen; PEFT keeps the adapter in float32')],
              ['bf16', true, ours('computes in bfloat16 (autocast)')],
            ] satisfies Setting[])),
        ['use_peft', true],
        ['lora_r', lora.rank, ours()],
        ['lora_alpha', lora.alpha, ours(`${choices.lora.alphaPerRank} × rank`)],
        ['lora_dropout', choices.lora.dropout, ours()],
        targetsOf(run),
      ];
};

const dataSettings = (run: TrainingRun): Setting[] => [
  ['datasets', [{ path: 'json', data_files: preparedFile, split: 'train' }], 'written by prepare_data.py'],
  ['max_length', run.row.sequenceLength, sourceOf(run, 'sequenceLength')],
  ['packing', false, notes.packing],
  ['completion_only_loss', true, notes.masking],
];
