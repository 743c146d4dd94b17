import { tableFormats } from '../../study/pages/score-table/formats.js';
import { argument, command } from '../framework/command.js';
import { option } from '../framework/option.js';
import { tableOutput } from '../options/table-output.js';
import { numberOption } from '../options/usual-options.js';

export const table = command({
  name: 'table',
  group: 'experiments',
  summary: 'make tables of scores: by language and method, experts, soups, gains, paired comparisons',
  arguments: {
    directories: argument(
      '[dir...]',
      'the directory of an evaluated experiment, or one for each base, as DIR or NAME=DIR; not needed with --summaries',
    ),
  },
  options: {
    tables: option('--table <name...>', 'only these tables: table-1, table-2/swahili, gains', {
      default: 'all',
    }),
    metric: option('--metric <name>', 'metric,filter to use for all tasks that have it', {
      default: "each task's metric",
    }),
    margin: numberOption(
      '--margin <points>',
      'test whether ablations and reverted experts are equivalent within this many points',
      'not tested',
    ),
    plan: numberOption(
      '--plan <points>',
      'print how many problems and answers intervals of ± this many points need',
    ),
    summaries: option('--summaries <file...>', 'CSV files of published figures, for cells without results'),
    ...tableOutput(tableFormats, 'format of the tables; latex uses booktabs'),
  },
  examples: [
    ['layerloom table ./study', 'print all tables'],
    ['layerloom table ./llama ./falcon', 'print the tables of two bases, and the means over them'],
    ['layerloom table ./study --table gains --format latex -o gains.tex', 'write one table for a paper'],
    [
      'layerloom table ./study --format parquet -o tables.parquet',
      'write all tables for pandas, polars, DuckDB',
    ],
  ],
  run: async (given) => (await import('../work/studies/table.js')).tableCommand(given),
});
