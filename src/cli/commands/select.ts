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
      'columns name and score, or the directory of an evaluated experiment',
      { required: true },
    ),
    analysis: option(
      '--analysis <dir>',
      'directory of layerloom analyze, whose overlap.json has the distances',
      { default: 'the checkpoints of an experiment are analysed, into analysis/ROLE of its directory' },
    ),
    out: option('-o, --out <file>', 'file for the choice, which layerloom experiment init takes', {
      group: optionGroups.output,
    }),
    count: numberOption('--count <n>', 'number of checkpoints to choose', '3'),
    balance: numberOption('--balance <x>', 'weight of diversity against score', '1'),
    role: option('--role <role...>', 'choose of these: task, a language (its experts), another role', {
      default: 'each role by itself',
    }),
    tasks: option('--tasks <name...>', 'tasks or benchmarks to choose by', {
      default: 'all that a role has; not those that judge the merges, if there are others',
    }),
    weights: option('--weights <name=weight...>', 'weights of tasks or benchmarks in the score', {
      parse: toNamed,
      default: 'all alike',
    }),
    atLeast: option(
      '--at-least <name=score...>',
      'leave out what scores less: a number, base, or base+0.005',
      { parse: toNamed },
    ),
  },
  examples: [
    [
      'layerloom select --scores ./checkpoints --count 3 -o selection.json',
      'three of each role, of the checkpoints that an experiment has scored',
    ],
    ['layerloom select --scores scores.csv --analysis ./analysis', 'three checkpoints, by a file of scores'],
    [
      'layerloom select --scores ./study --analysis ./analysis --count 2 --balance 0.5',
      'two, by the scores of an experiment, score before diversity',
    ],
    [
      'layerloom select --scores ./study --analysis ./analysis --tasks BELEBELE FLORES --at-least MGSM=base',
      'by reading and translation, of those that are as good as the base in MGSM',
    ],
  ],
  run: async (given) => (await import('../work/studies/select.js')).selectCommand(given),
});
