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
  summary: 'score stored answers again: with another extraction, corrected answers, or fewer problems',
  arguments: { directory: argument('<dir>', 'the directory of an evaluated experiment') },
  options: {
    filter: option('--filter <name>', 'use another filter of the harness: strict-match, flexible-extract'),
    rule: option(
      '--rule <expression>',
      'extract answers with a JavaScript regular expression: the first group that matched, else the whole match',
    ),
    match: option('--match <which>', 'which match of --rule counts', {
      choices: matches,
      parse: toOneOf('match', matches),
      default: 'last',
    }),
    targets: option(
      '--targets <file...>',
      'corrected answers, as FILE for all tasks or TASK=FILE: JSON lines, CSV or TSV with question or id, and answer',
    ),
    drop: option(
      '--drop <file>',
      'file of problems to leave out, one per line: ROW, TASK ROW or the hash of a problem',
    ),
    sensitivity: option(
      '--sensitivity',
      'leave out each problem in turn, and list problems that alone decide a verdict',
    ),
    ...tableOutput(formats, 'format of the tables'),
  },
  examples: [
    ['layerloom rescore ./study --filter strict-match', 'scores and verdicts with the stricter extraction'],
    ['layerloom rescore ./study --sensitivity', 'verdicts that depend on a single problem'],
  ],
  run: async (given) => (await import('../work/studies/rescore.js')).rescoreCommand(given),
});
