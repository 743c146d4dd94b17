import { argument, command } from '../framework/command.js';
import { optionGroups } from '../framework/help.js';
import { option } from '../framework/option.js';
import { numberOption } from '../options/usual-options.js';

export const report = command({
  name: 'report',
  group: 'experiments',
  summary: 'write one page of an experiment: tables, pairs, configurations, every merge, answers',
  arguments: { directory: argument('<dir>', 'the directory of a batch, with or without scores') },
  options: {
    samples: numberOption('--samples <n>', 'problems of each task whose texts the page carries', '50'),
    analysis: option('--analysis <dir>', 'directory of layerloom analyze, whose pictures the page shows', {
      default: "analysis in the batch's",
    }),
    csv: option('--csv <file>', 'write every number of its tables and pictures as CSV', {
      group: optionGroups.output,
    }),
    summaries: option('--summaries <file...>', 'CSV files of published figures for the tables'),
    watch: option('--watch', 'write a page of the running study again and again, until Ctrl-C', {
      group: optionGroups.running,
    }),
    training: option('--training <dir...>', 'with --watch: directories of train init, whose runs it shows', {
      group: optionGroups.running,
    }),
    every: numberOption(
      '--every <seconds>',
      'with --watch: seconds between two pages',
      '10',
      optionGroups.running,
    ),
    out: option('-o, --out <file>', 'the HTML file to write', { required: true, group: optionGroups.output }),
    force: option('--force', 'replace a file that is not a page of layerloom', {
      group: optionGroups.output,
    }),
  },
  examples: [
    ['layerloom report ./study --watch -o now.html', 'how far a study is, while it runs'],
    ['layerloom report ./study -o study.html', 'a page that needs no network'],
    [
      'layerloom report ./study --analysis ./analysis --samples 10 -o study-small.html',
      'with the changes of the experts, and fewer answers',
    ],
    ['layerloom report ./study -o study.html --csv study.csv', 'with every number that the page draws'],
  ],
  run: async (given) => (await import('../work/studies/report.js')).reportCommand(given),
});
