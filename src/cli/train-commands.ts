import type { Command } from 'commander';
import { trainingPresets } from '../paper/training.js';
import { trainers, trainingMethods, trainingWays } from '../training/choices.js';
import { addExamples, commandGroups, optionGroups, optionOf } from './help.js';
import { addOutputOptions, toNumber } from './options.js';
import type { TrainInitCliOptions } from './train.js';

/** Adds `layerloom train`. */
export const addTrain = (program: Command): void => {
  const train = program
    .command('train')
    .helpGroup(commandGroups.training)
    .description('configurations for training the experts that are merged');
  addInit(train);
  addExamples(train, [
    ['layerloom train init --preset math-1 -o ./train-math-1', "the paper's first math expert, for TRL"],
    ['layerloom train init --help', 'all options'],
  ]);
};

const addInit = (train: Command): void => {
  const command = train
    .command('init')
    .description("write a trainer's configuration for an expert of the paper or a baseline, with its data")
    .addOption(
      optionOf('--preset <name>', 'the run: a row of Table 4, joint SFT, or math-only SFT', {
        choices: trainingPresets,
        required: true,
      }),
    )
    .addOption(
      optionOf('--trainer <program>', 'the program that trains', { choices: trainers, default: 'trl' }),
    )
    .addOption(
      optionOf('--base <model>', 'the model to fine-tune: a directory, or org/name on the hub', {
        default: 'meta-llama/Llama-3.1-8B',
      }),
    )
    .addOption(
      optionOf('--method <which>', 'train all weights, or an adapter', {
        choices: trainingMethods,
        default: 'full',
      }),
    )
    .addOption(optionOf('--rank <r>', 'rank of LoRA', { parse: toNumber, default: '16' }))
    .addOption(
      optionOf(
        '--way <which>',
        'plain: all parameters, for layer swapping; the others: modular fine-tuning (docs/training.md)',
        {
          choices: trainingWays,
          default: 'plain',
        },
      ),
    )
    .addOption(
      optionOf(
        '--partition <file>',
        'partition.json of layerloom partition: the parameters that train, or with --way revert stay',
        { required: 'for --way freeze and simultaneous' },
      ),
    )
    .addOption(
      optionOf(
        '--data <path>',
        "rows of your own instead of the preset's; NAME=PATH stands for one data set of Table 3, math=PATH or language=PATH for all of that kind",
        { repeatable: true },
      ),
    )
    .addOption(
      optionOf('--language <code>', 'language of the joint preset: swh, tel, ben or jpn', { default: 'swh' }),
    )
    .addOption(
      optionOf('--samples <n>', 'samples of the run; for joint of each kind', {
        parse: toNumber,
        default: '40000',
      }),
    )
    .addOption(
      optionOf('--seed <n>', 'seed of sampling and of the order', {
        parse: toNumber,
        default: 'the number of the run',
      }),
    )
    .addOption(
      optionOf('--devices <n>', 'devices that a batch is divided among', {
        parse: toNumber,
        default: '4, for LoRA 1',
      }),
    )
    .addOption(
      optionOf('-o, --out <dir>', 'directory to create', { required: true, group: optionGroups.output }),
    );
  addOutputOptions(command).action(async (options: TrainInitCliOptions) => {
    const { trainInitCommand } = await import('./train.js');
    await trainInitCommand(options);
  });
  addExamples(command, [
    ['layerloom train init --preset math-1 -o ./train-math-1', "the paper's first math expert, for TRL"],
    [
      'layerloom train init --preset swh-2 --method lora --rank 32 --base ./llama-3.1-8b -o ./train-swh-2',
      'an adapter for Swahili',
    ],
    [
      'layerloom train init --preset math-1 --way freeze --partition ./parts/partition.json -o ./train-task',
      "the task's layers only, of the base that was partitioned",
    ],
    [
      'layerloom train init --preset joint --language ben --trainer axolotl -o ./train-joint',
      'both kinds of data in one run, for axolotl',
    ],
  ]);
};
