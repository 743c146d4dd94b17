import { argument, command } from '../framework/command.js';
import { optionGroups } from '../framework/help.js';
import { option } from '../framework/option.js';
import { allowNonFinite, download, inPlace, jobs, lmEval, threads } from '../options/common.js';
import { choiceOption, numberOption } from '../options/usual-options.js';

export const search = command({
  name: 'search',
  group: 'experiments',
  summary: 'find the best configuration of an experiment, within a budget of evaluations',
  arguments: {
    experiment: argument(
      '<experiment>',
      'an experiment: a YAML file, or its text, beginning with {; its grids are the configurations to search, and its search: block gives the defaults',
    ),
  },
  options: {
    language: option('--lang <language>', 'the language to search for', {
      required: 'if the experiment has several',
    }),
    strategy: choiceOption(
      '--strategy <strategy>',
      'how to search; descent is another name for halving',
      ['halving', 'descent'],
      'halving',
    ),
    budget: option('--budget <n>', "number of problem-evaluations, or a percentage of the whole grid's", {
      default: '25%',
    }),
    problems: numberOption('--problems <n>', "number of the task's problems", '250'),
    holdOut: numberOption(
      '--hold-out <n>',
      'number of last problems, used only to compare the choice with the default',
      '80 of 250',
    ),
    default: option('--default <name>', 'configuration to compare the choice with', {
      default: 'the entry default',
    }),
    entries: option('--entries <name...>', 'entries of the experiment to search', { default: 'all' }),
    pairs: option('--pair <task+lang...>', 'pairs to score', { default: 'all of the language' }),
    task: option('--task <task>', 'task whose scores guide the search', {
      default: "the language's first",
    }),
    metric: option('--metric <metric>', 'metric that guides the search: exact_match,flexible-extract', {
      default: 'the metric that tables show',
    }),
    analysis: option(
      '--analysis <dir>',
      'directory of layerloom analyze, to order the search: first the swap that it proposes, then swaps that keep most of the changes',
    ),
    seed: numberOption('--seed <n>', 'seed for the order, if there is no analysis', '0'),
    out: option('-o, --out <dir>', 'directory for merges, results, search.json and search.svg', {
      required: 'unless --dry-run',
      group: optionGroups.output,
    }),
    store: option('--store <dir>', 'directory of the shards that merges share', {
      default: '.store in the output',
      group: optionGroups.output,
    }),
    allowNonFinite,
    lmEval,
    jobs,
    inPlace: inPlace('score merges without writing them; at the end, write the chosen ones'),
    download: download(),
    threads,
    resume: option('--resume', 'continue in a directory with merges and results', {
      group: optionGroups.running,
    }),
    dryRun: option('--dry-run', 'print steps, merges and evaluations, and write nothing', {
      group: optionGroups.running,
    }),
  },
  examples: [
    ['layerloom search study.yaml --lang swahili --dry-run', 'print what it would merge and score'],
    ['layerloom search study.yaml --lang swahili -o ./searched', 'search with a quarter of the evaluations'],
    [
      'layerloom search study.yaml --budget 10% --analysis ./analysis -o ./searched-10',
      'first try layers where the experts changed most',
    ],
  ],
  run: async (given) => (await import('../work/studies/search.js')).searchCommand(given),
});
