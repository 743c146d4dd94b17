import { command } from '../framework/command.js';
import { optionGroups } from '../framework/help.js';
import { option } from '../framework/option.js';
import { toNamed } from '../options/parse.js';
import { numberOption } from '../options/usual-options.js';

export const select = command({
  name: 'select',
  group: 'experiments',
  summary: 'choose checkpoints of training runs that balance score and diversity',
  options: {
    scores: option(
      '--scores <csv|dir>',
      'CSV file with columns name and score, or the directory of an evaluated experiment',
      { required: true },
    ),
    analysis: option('--analysis <dir>', 'directory of layerloom analyze, with distances in overlap.json', {
      default: 'analyse the checkpoints of the experiment, into analysis/ROLE of its directory',
    }),
    out: option('-o, --out <file>', 'file for the choice, for layerloom experiment init --selection', {
      group: optionGroups.output,
    }),
    count: numberOption('--count <n>', 'number of checkpoints to choose for each role', '3'),
    balance: numberOption('--balance <x>', 'weight of diversity relative to score', '1'),
    role: option('--role <role...>', 'roles to choose for: task, a language (its experts), another role', {
      default: 'each role separately',
    }),
    tasks: option('--tasks <name...>', 'tasks or benchmarks whose scores count', {
      default: 'all that a role has, without those that score the merges if there are others',
    }),
    weights: option('--weights <name=weight...>', 'weights of tasks or benchmarks in the score', {
      parse: toNamed,
      default: 'all alike',
    }),
    atLeast: option('--at-least <name=score...>', 'minimum scores: a number, base, or base+0.005', {
      parse: toNamed,
    }),
  },
  examples: [
    [
      'layerloom select --scores ./checkpoints --count 3 -o selection.json',
      'three checkpoints for each role, from a scored experiment',
    ],
    [
      'layerloom select --scores scores.csv --analysis ./analysis',
      'three checkpoints, from a file of scores',
    ],
    [
      'layerloom select --scores ./study --analysis ./analysis --count 2 --balance 0.5',
      'two checkpoints; score counts more than diversity',
    ],
    [
      'layerloom select --scores ./study --analysis ./analysis --tasks BELEBELE FLORES --at-least MGSM=base',
      'by reading and translation, among those at least as good as the base in MGSM',
    ],
  ],
  run: async (given) => (await import('../work/studies/select.js')).selectCommand(given),
});
