import { tableFormats } from '../../study/pages/score-table/formats.js';
import { argument, command } from '../framework/command.js';
import { option } from '../framework/option.js';
import { toOneOf } from '../options/parse.js';
import { tableOutput } from '../options/table-output.js';

const matches = ['first', 'last'] as const;
const formats = tableFormats.filter((format) => format !== 'parquet');

export const rescore = command({
  name: 'rescore',
  group: 'experiments',
  summary: 'score stored answers again: other extraction, corrected answers, problems left out',
  arguments: { directory: argument('<dir>', 'the directory of an experiment that was evaluated') },
  options: {
    filter: option('--filter <name>', "another of the harness's filters: strict-match, flexible-extract"),
    rule: option(
      '--rule <expression>',
      'extract answers by a regular expression of JavaScript: its first group that matched, else the match',
    ),
    match: option('--match <which>', 'which match of --rule counts', {
      choices: matches,
      parse: toOneOf('match', matches),
      default: 'last',
    }),
    targets: option(
      '--targets <file...>',
      'corrected answers, for all tasks or TASK=FILE: JSON lines, CSV or TSV with question or id, and answer',
    ),
    drop: option(
      '--drop <file>',
      'problems to leave out, a line each: ROW, TASK ROW or the hash of a problem',
    ),
    sensitivity: option(
      '--sensitivity',
      'leave out each problem in turn, and list those that alone decide a verdict',
    ),
    ...tableOutput(formats, 'format of the tables'),
  },
  examples: [
    ['layerloom rescore ./study --filter strict-match', 'scores and verdicts by the stricter extraction'],
    ['layerloom rescore ./study --sensitivity', 'verdicts that hang on one problem'],
  ],
  run: async (given) => (await import('../work/studies/rescore.js')).rescoreCommand(given),
});
