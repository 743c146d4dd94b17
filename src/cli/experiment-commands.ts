import type { Command } from 'commander';
import { presetNames, presets } from '../paper/experiment-merges.js';
import type { BatchCliOptions } from './batch.js';
import type { ExperimentInitOptions } from './experiment.js';
import { addExamples, commandGroups, helpList, optionGroups, optionOf, printsByDefault } from './help.js';
import {
  addAnalysisOption,
  addMergeOptions,
  addOutputOptions,
  addTokenizerOption,
  expectOption,
} from './options.js';
import { addKubernetes, addSlurm, addSnakemake } from './scheduler-commands.js';

// Commands that run experiments: their options. Their work is loaded when one is called.

/** Adds `layerloom batch`. */
export const addBatch = (program: Command): void => {
  const command = program
    .command('batch')
    .helpGroup(commandGroups.experiments)
    .description(
      'run an experiment: every pair, configuration and language, each distinct shard written once',
    )
    .argument('<experiment>', 'a YAML file (layerloom experiment init writes one)')
    .addOption(
      optionOf('--store <dir>', 'directory of the shards that merges share', {
        default: '.store in the output',
      }),
    )
    .addOption(optionOf('--first <pattern...>', 'merges to finish first, by name; * stands for any text'))
    .addOption(optionOf('--shard-range <i/n>', 'make only part i (from 0) of n of the shards, and no merges'))
    .addOption(expectOption());
  const hard = { link: 'hard' };
  const withOptions = addTokenizerOption(addAnalysisOption(command), "the experiment's, or auto", '');
  addMergeOptions(withOptions, hard).action(async (file: string, options: BatchCliOptions) => {
    const { batchCommand } = await import('./batch.js');
    // Commander's defaults are dropped: without the option, the experiment's value holds.
    const given = (name: 'layout' | 'maxShardSize' | 'tokenizer') =>
      command.getOptionValueSource(name) === 'cli' ? options[name] : undefined;
    await batchCommand(file, {
      ...options,
      layout: given('layout'),
      maxShardSize: given('maxShardSize'),
      tokenizer: given('tokenizer'),
    } as BatchCliOptions);
  });
  addExamples(command, [
    ['layerloom batch study.yaml -o ./study --dry-run', 'print the cost, from headers alone'],
    ['layerloom batch study.yaml -o ./study', 'run all merges'],
    [
      'layerloom batch study.yaml -o ./study --resume',
      'continue after an interruption or a change of the file',
    ],
  ]);
};

/** Adds `layerloom experiment init`, and the commands of schedulers. */
export const addExperiment = (program: Command): void => {
  const experiment = program
    .command('experiment')
    .helpCommand(false)
    .helpGroup(commandGroups.experiments)
    .description('write experiment files, and jobs that run them');
  addInit(experiment);
  addSlurm(experiment);
  addSnakemake(experiment);
  addKubernetes(experiment);
  addExamples(experiment, [
    ['layerloom experiment init --preset paper -o study.yaml', "write the paper's comparisons to a file"],
    ['layerloom experiment slurm study.yaml > submit.sh', 'print a script that submits them to SLURM'],
  ]);
};

const addInit = (experiment: Command): void => {
  const init = experiment
    .command('init')
    .description("write an experiment's file, to be edited")
    .addOption(
      optionOf('--preset <preset>', 'the merges, see below', { required: true, choices: presetNames }),
    )
    .addOption(optionOf('--base <model>', 'the model that all experts were fine-tuned from'))
    .addOption(optionOf('--task <name=dir...>', 'task experts'))
    .addOption(optionOf('--lang <lang:name=dir...>', 'language experts'))
    .addOption(
      optionOf('-o, --out <file>', 'file to create', {
        default: printsByDefault,
        group: optionGroups.output,
      }),
    )
    .addHelpText('after', ({ command }) =>
      helpList(
        command,
        'Presets:',
        presetNames.map((name) => [name, presets[name].title]),
      ),
    );
  addOutputOptions(init).action(async (options: ExperimentInitOptions) => {
    const { experimentInitCommand } = await import('./experiment.js');
    await experimentInitCommand(options);
  });
  addExamples(init, [
    ['layerloom experiment init --preset paper', "print the paper's comparisons, with models to fill in"],
    [
      'layerloom experiment init --preset grid --base ./llama-3.1-8b --task ./math-1 ./math-2 --lang swahili:./swh-1 -o study.yaml',
      'write a file for two task experts and one language expert',
    ],
  ]);
};
