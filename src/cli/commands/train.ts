import { trainingPresets } from '../../paper/training.js';
import { trainers, trainingMethods, trainingWays } from '../../training/choices.js';
import { command, commandOfCommands } from '../framework/command.js';
import { optionGroups } from '../framework/help.js';
import { option } from '../framework/option.js';
import { toNumber } from '../options/parse.js';

const trainInit = command({
  name: 'init',
  summary: "write a trainer's configuration for an expert of the paper or a baseline, with its data",
  options: {
    preset: option('--preset <name>', 'the run: a row of Table 4, joint SFT, or math-only SFT', {
      choices: trainingPresets,
      required: true,
    }),
    trainer: option('--trainer <program>', 'the program that trains', { choices: trainers, default: 'trl' }),
    base: option('--base <model>', 'the model to fine-tune: a directory, or org/name on the hub', {
      default: 'meta-llama/Llama-3.1-8B',
    }),
    method: option('--method <which>', 'train all weights, or an adapter', {
      choices: trainingMethods,
      default: 'full',
    }),
    rank: option('--rank <r>', 'rank of LoRA', { parse: toNumber, default: '16' }),
    way: option(
      '--way <which>',
      'plain: all parameters, for layer swapping; the others: modular fine-tuning (docs/training.md)',
      {
        choices: trainingWays,
        default: 'plain',
      },
    ),
    partition: option(
      '--partition <file>',
      'partition.json of layerloom partition: the parameters that train, or with --way revert stay',
      { required: 'for --way freeze and simultaneous' },
    ),
    data: option(
      '--data <path>',
      "rows of your own instead of the preset's; NAME=PATH stands for one data set of Table 3, math=PATH or language=PATH for all of that kind",
      { repeatable: true },
    ),
    language: option('--language <code>', 'language of the joint preset: swh, tel, ben or jpn', {
      default: 'swh',
    }),
    samples: option('--samples <n>', 'samples of the run; for joint of each kind', {
      parse: toNumber,
      default: '40000',
    }),
    seed: option('--seed <n>', 'seed of sampling and of the order', {
      parse: toNumber,
      default: 'the number of the run',
    }),
    devices: option('--devices <n>', 'devices that a batch is divided among', {
      parse: toNumber,
      default: '4, for LoRA 1',
    }),
    out: option('-o, --out <dir>', 'directory to create', { required: true, group: optionGroups.output }),
  },
  examples: [
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
  ],
  run: async (given) => {
    const { trainInitCommand } = await import('../work/train.js');
    await trainInitCommand(given);
  },
});

export const train = commandOfCommands({
  name: 'train',
  group: 'training',
  summary: 'configurations for training the experts that are merged',
  commands: [trainInit],
  examples: [
    ['layerloom train init --preset math-1 -o ./train-math-1', "the paper's first math expert, for TRL"],
    ['layerloom train init --help', 'all options'],
  ],
});
