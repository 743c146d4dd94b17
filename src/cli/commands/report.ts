import { argument, command } from '../framework/command.js';
import { optionGroups } from '../framework/help.js';
import { option } from '../framework/option.js';
import { numberOption } from '../options/usual-options.js';

export const report = command({
  name: 'report',
  group: 'experiments',
  summary: 'write one page about an experiment: tables, pairs, configurations, merges and answers',
  arguments: { directory: argument('<dir>', 'the directory of a batch, with or without scores') },
  options: {
    samples: numberOption(
      '--samples <n>',
      'number of problems of each task whose texts the page contains',
      '50',
    ),
    analysis: option('--analysis <dir>', 'directory of layerloom analyze; the page shows its pictures', {
      default: "analysis in the batch's directory",
    }),
    csv: option('--csv <file>', 'also write every number of its tables and pictures as CSV', {
      group: optionGroups.output,
    }),
    summaries: option('--summaries <file...>', 'CSV files of published figures for the tables'),
    watch: option('--watch', 'update a page about the running study repeatedly, until Ctrl-C', {
      group: optionGroups.running,
    }),
    training: option(
      '--training <dir...>',
      'with --watch: also show the training runs in these directories of train init',
      {
        group: optionGroups.running,
      },
    ),
    every: numberOption(
      '--every <seconds>',
      'with --watch: seconds between updates',
      '10',
      optionGroups.running,
    ),
    out: option('-o, --out <file>', 'the HTML file to write', { required: true, group: optionGroups.output }),
    force: option('--force', 'replace a file that is not a page of layerloom', {
      group: optionGroups.output,
    }),
  },
  examples: [
    ['layerloom report ./study --watch -o now.html', 'the progress of a running study'],
    ['layerloom report ./study -o study.html', 'a page that needs no network'],
    [
      'layerloom report ./study --analysis ./analysis --samples 10 -o study-small.html',
      'with the changes of the experts, and fewer answers',
    ],
    ['layerloom report ./study -o study.html --csv study.csv', 'also all its numbers as CSV'],
  ],
  run: async (given) => (await import('../work/studies/report.js')).reportCommand(given),
});
