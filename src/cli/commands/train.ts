import { trainingPresets } from '../../study/paper/training.js';
import { trainers, trainingMethods, trainingWays } from '../../study/training/settings/choices.js';
import { argument, command, commandOfCommands } from '../framework/command.js';
import { optionGroups } from '../framework/help.js';
import { option } from '../framework/option.js';
import { toValues } from '../options/parse.js';
import { choiceOption, numberOption } from '../options/usual-options.js';
import { trainKubernetes } from './kubernetes.js';
import { trainSlurm } from './slurm.js';
import { trainSnakemake } from './snakemake.js';

const trainInit = command({
  name: 'init',
  summary: "write a trainer's configuration and data mix for an expert of the paper, or a baseline",
  options: {
    preset: option('--preset <name>', 'the run: a row of Table 4, a baseline, or your own data', {
      choices: trainingPresets,
      required: true,
    }),
    trainer: choiceOption('--trainer <program>', 'the program that trains', trainers, 'trl'),
    base: option('--base <model>', 'the model to fine-tune: a directory, or org/name on the hub', {
      default: 'meta-llama/Llama-3.1-8B',
    }),
    method: choiceOption('--method <which>', 'train all weights, or a LoRA adapter', trainingMethods, 'full'),
    rank: numberOption('--rank <r>', 'rank of LoRA', '16'),
    way: choiceOption(
      '--way <which>',
      'plain: all parameters, for layer swapping; the others: modular fine-tuning (docs/training.md)',
      trainingWays,
      'plain',
    ),
    partition: option(
      '--partition <file>',
      'partition.json of layerloom partition: parameters to train, or with --way revert to keep',
      { required: 'for --way freeze and simultaneous' },
    ),
    data: option(
      '--data <path>',
      "your own rows instead of the preset's; NAME=PATH replaces one data set of Table 3, math=PATH or language=PATH all of that kind",
      { repeatable: true },
    ),
    language: option(
      '--lang <name>',
      'language of the preset joint (swh, tel, ben or jpn), or the name of the language for own-language',
      { default: 'swh for joint' },
    ),
    set: option(
      '--set <key=values...>',
      'replace a hyper-parameter of the preset; several values give a sweep: learning_rate=1e-7,2e-7',
      { parse: toValues },
    ),
    samples: numberOption(
      '--samples <n>',
      'number of samples; for joint, of each kind',
      '40000; with own data, 2000',
    ),
    seed: numberOption('--seed <n>', 'seed for sampling and for the order', 'the number of the run'),
    devices: numberOption(
      '--devices <n>',
      'number of devices among which a batch is divided',
      '4; for LoRA, 1',
    ),
    cpu: option('--cpu', 'train on the processor, in float32'),
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
      "train only the task's part of the partition",
    ],
    [
      'layerloom train init --preset swh-1 --set learning_rate=7e-8,2e-7 --set seed=1,2 -o ./train-swh',
      'four runs, each in its own folder',
    ],
    [
      'layerloom train init --preset own-language --lang japanese --data ./rows.jsonl --base ./base --cpu -o ./train-ja',
      'your own small file, on the processor',
    ],
    [
      'layerloom train init --preset joint --lang ben --trainer axolotl -o ./train-joint',
      'both kinds of data in one run, for axolotl',
    ],
  ],
  run: async (given) => (await import('../work/studies/train.js')).trainInitCommand(given),
});

const trainStatus = command({
  name: 'status',
  summary: 'print which runs are finished, and which checkpoints can be used',
  arguments: {
    directories: argument('<dir...>', 'directories of layerloom train init, all with the same base'),
  },
  options: {},
  examples: [
    ['layerloom train status ./train-math ./train-swh', 'the runs of two sweeps, and the next command'],
    ['layerloom train status ./train-math --json', 'for a script: exit 4 until every run is finished'],
  ],
  run: async (given) => (await import('../work/studies/train.js')).trainStatusCommand(given),
});

export const train = commandOfCommands({
  name: 'train',
  group: 'training',
  summary: 'write configurations and jobs for training experts, and show their progress',
  commands: [trainInit, trainStatus, trainSlurm, trainSnakemake, trainKubernetes],
  examples: [
    ['layerloom train init --preset math-1 -o ./train-math-1', "the paper's first math expert, for TRL"],
    ['layerloom train init --help', 'all options'],
  ],
});
