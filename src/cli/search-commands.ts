import type { Command } from 'commander';
import type { SelectParameters } from '../api/select-from-files.js';
import { addExamples, commandGroups, optionGroups, optionOf } from './help.js';
import {
  addOutputOptions,
  downloadOption,
  nonFiniteOption,
  type OutputOptions,
  threadsOption,
  toNamed,
  toNumber,
} from './options.js';
import { harnessOption, jobsOption } from './score-commands.js';
import type { SearchCliOptions } from './search.js';

// Commands that search and select: their options. Their work is loaded when one is called.

/** Adds `layerloom search`. */
export const addSearch = (program: Command): void => {
  const { output, running } = optionGroups;
  const command = program
    .command('search')
    .helpGroup(commandGroups.experiments)
    .description("search an experiment's configurations for the best, within a budget of evaluations")
    .argument('<experiment>', 'a YAML file; its grids are the configurations, its search: block the defaults')
    .addOption(
      optionOf('--language <language>', 'the language to search for', {
        required: 'if the experiment has several',
      }),
    )
    .addOption(
      optionOf('--strategy <strategy>', 'how to search', {
        choices: ['halving', 'descent'],
        default: 'halving',
      }),
    )
    .addOption(
      optionOf('--budget <n>', "problem-evaluations, or a share of the whole grid's", { default: '25%' }),
    )
    .addOption(
      optionOf('--problems <n>', "number of the task's problems", { parse: toNumber, default: '250' }),
    )
    .addOption(
      optionOf('--hold-out <n>', 'last problems, to compare choice and default on', {
        parse: toNumber,
        default: '80 of 250',
      }),
    )
    .addOption(
      optionOf('--default <name>', 'configuration to compare with', { default: 'the entry default' }),
    )
    .addOption(optionOf('--entries <name...>', 'entries of the experiment to search', { default: 'all' }))
    .addOption(optionOf('--pair <task+lang...>', 'pairs to score', { default: 'all of the language' }))
    .addOption(optionOf('--task <task>', 'task to search by', { default: "the language's first" }))
    .addOption(
      optionOf('--metric <metric>', 'metric to search by: exact_match,flexible-extract', {
        default: 'the one that tables show',
      }),
    )
    .addOption(optionOf('--analysis <dir>', 'directory of layerloom analyze, which says what to try first'))
    .addOption(
      optionOf('--seed <n>', 'seed of the order without an analysis', { parse: toNumber, default: '0' }),
    )
    .addOption(
      optionOf('-o, --out <dir>', 'directory for merges, results, search.json and search.svg', {
        required: true,
        group: output,
      }),
    )
    .addOption(
      optionOf('--store <dir>', 'directory of the shards that merges share', {
        default: '.store in the output',
        group: output,
      }),
    )
    .addOption(nonFiniteOption())
    .addOption(harnessOption())
    .addOption(jobsOption())
    .addOption(downloadOption())
    .addOption(threadsOption())
    .addOption(optionOf('--resume', 'continue in a directory with merges and results', { group: running }));
  addOutputOptions(command).action(async (file: string, options: SearchCliOptions) => {
    const { searchCommand } = await import('./search.js');
    await searchCommand(file, options);
  });
  addExamples(command, [
    [
      'layerloom search study.yaml --language swahili -o ./searched',
      'search with a quarter of the evaluations',
    ],
    [
      'layerloom search study.yaml --strategy descent --budget 10% --analysis ./analysis -o ./searched-10',
      'one step at a time, beginning where the experts changed most',
    ],
  ]);
};

/** Adds `layerloom select`. */
export const addSelect = (program: Command): void => {
  const command = program
    .command('select')
    .helpGroup(commandGroups.experiments)
    .description('choose checkpoints of training runs that balance score and diversity')
    .addOption(
      optionOf('--scores <csv|dir>', 'columns name and score, or the directory of an evaluated experiment', {
        required: true,
      }),
    )
    .addOption(
      optionOf('--analysis <dir>', 'directory of layerloom analyze, whose overlap.json has the distances', {
        required: true,
      }),
    )
    .addOption(optionOf('--count <n>', 'number of checkpoints to choose', { parse: toNumber, default: '3' }))
    .addOption(
      optionOf('--balance <x>', 'weight of diversity against score', { parse: toNumber, default: '1' }),
    )
    .addOption(
      optionOf('--role <role...>', 'choose of these: task, a language (its experts), another role', {
        default: 'each role by itself',
      }),
    )
    .addOption(
      optionOf('--tasks <name...>', 'tasks or benchmarks to choose by', { default: 'all that a role has' }),
    )
    .addOption(
      optionOf('--weights <name=weight...>', 'weights of tasks or benchmarks in the score', {
        parse: toNamed,
        default: 'all alike',
      }),
    )
    .addOption(
      optionOf('--at-least <name=score...>', 'leave out what scores less: a number, base, or base+0.005', {
        parse: toNamed,
      }),
    );
  addOutputOptions(command).action(async (options: SelectParameters & OutputOptions) => {
    const { selectCommand } = await import('./select.js');
    await selectCommand(options);
  });
  addExamples(command, [
    ['layerloom select --scores scores.csv --analysis ./analysis', 'three checkpoints, by a file of scores'],
    [
      'layerloom select --scores ./study --analysis ./analysis --count 2 --balance 0.5',
      'two, by the scores of an experiment, score before diversity',
    ],
    [
      'layerloom select --scores ./study --analysis ./analysis --tasks BELEBELE FLORES --at-least MGSM=base',
      'by reading and translation, of those that are as good as the base in MGSM',
    ],
  ]);
};
