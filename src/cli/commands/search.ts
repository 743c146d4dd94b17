import { argument, command } from '../framework/command.js';
import { optionGroups } from '../framework/help.js';
import { option } from '../framework/option.js';
import { allowNonFinite, download, inPlace, jobs, lmEval, threads } from '../options/common.js';
import { choiceOption, numberOption } from '../options/usual-options.js';

export const search = command({
  name: 'search',
  group: 'experiments',
  summary: "search an experiment's configurations for the best, within a budget of evaluations",
  arguments: {
    experiment: argument(
      '<experiment>',
      'a YAML file, or the experiment itself, as a text that begins with {; its grids are the configurations, its search: block the defaults',
    ),
  },
  options: {
    language: option('--lang <language>', 'the language to search for', {
      required: 'if the experiment has several',
    }),
    strategy: choiceOption(
      '--strategy <strategy>',
      'how to search; descent, of earlier versions, means halving',
      ['halving', 'descent'],
      'halving',
    ),
    budget: option('--budget <n>', "problem-evaluations, or a share of the whole grid's", { default: '25%' }),
    problems: numberOption('--problems <n>', "number of the task's problems", '250'),
    holdOut: numberOption('--hold-out <n>', 'last problems, to compare choice and default on', '80 of 250'),
    default: option('--default <name>', 'configuration to compare with', { default: 'the entry default' }),
    entries: option('--entries <name...>', 'entries of the experiment to search', { default: 'all' }),
    pairs: option('--pair <task+lang...>', 'pairs to score', { default: 'all of the language' }),
    task: option('--task <task>', 'benchmark task of the experiment to search by', {
      default: "the language's first",
    }),
    metric: option('--metric <metric>', 'metric to search by: exact_match,flexible-extract', {
      default: 'the one that tables show',
    }),
    analysis: option(
      '--analysis <dir>',
      'directory of layerloom analyze, which says what to try first: the swap that it proposes, then those that keep most changes',
    ),
    seed: numberOption('--seed <n>', 'seed of the order without an analysis', '0'),
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
    inPlace: inPlace('score merges without writing them; write those chosen at the end'),
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
    ['layerloom search study.yaml --lang swahili --dry-run', 'print what it would merge and ask'],
    ['layerloom search study.yaml --lang swahili -o ./searched', 'search with a quarter of the evaluations'],
    [
      'layerloom search study.yaml --budget 10% --analysis ./analysis -o ./searched-10',
      'begin where the experts changed most',
    ],
  ],
  run: async (given) => (await import('../work/studies/search.js')).searchCommand(given),
});
