import { type Command, Option } from 'commander';
import type { EvaluateCliOptions } from './evaluate.js';
import { addExamples, commandGroups, optionGroups, optionOf, printsByDefault } from './help.js';
import { addOutputOptions, downloadOption, expectOption, toNumber } from './options.js';
import type { ReportCliOptions } from './report.js';
import type { TableCliOptions } from './table.js';

// Commands that score experiments and show the scores: their options. Their work is loaded when one is called.

const { output, running } = optionGroups;

/** `--lm-eval <command>`, of commands that run the harness. */
export const harnessOption = (): Option =>
  optionOf('--lm-eval <command>', 'the command of lm-evaluation-harness', {
    default: 'lm_eval',
    group: running,
  });

/** `--jobs <n>`, of commands that score models. */
export const jobsOption = (): Option =>
  optionOf('--jobs <n>', 'models to score at once', {
    parse: toNumber,
    default: "the experiment's",
    group: running,
  });

/** Adds `layerloom evaluate`. */
export const addEvaluate = (program: Command): void => {
  const command = program
    .command('evaluate')
    .helpGroup(commandGroups.experiments)
    .description("score an experiment's models with lm-evaluation-harness, by its evaluate: block")
    .argument('<dir>', 'the directory of a batch, also while it still runs')
    .addOption(
      optionOf('--only <pattern>', 'only models of this name; * stands for any text', { repeatable: true }),
    )
    .addOption(optionOf('--part <i/n>', 'score part i (from 0) of n of the models'))
    .addOption(
      optionOf('--limit <n>', 'score only the first problems of every task', {
        parse: toNumber,
        default: "the experiment's",
      }),
    )
    .addOption(optionOf('--force', 'score again what has scores'))
    .addOption(
      optionOf('--import <dir>', 'take results_*.json that lm_eval wrote elsewhere, and run nothing'),
    )
    .addOption(optionOf('--print', 'print the commands that would run, and run none'))
    .addOption(harnessOption())
    .addOption(jobsOption())
    .addOption(expectOption())
    .addOption(downloadOption('references that are not here, whole,'))
    .addOption(
      optionOf('--allow-serve', 'run serve: and arguments: of a folder that no batch of yours has made', {
        group: running,
      }),
    )
    .addOption(
      optionOf('--resume', 'keep the answers of a model that is interrupted, and continue from them', {
        group: running,
      }),
    );
  addOutputOptions(command).action(async (directory: string, options: EvaluateCliOptions) => {
    const { evaluateCommand } = await import('./evaluate.js');
    await evaluateCommand(directory, options);
  });
  addExamples(command, [
    ['layerloom evaluate ./study', 'score every model that has no scores yet'],
    ["layerloom evaluate ./study --only 'swahili/*' --limit 20", 'a quick look at one language'],
    ['layerloom evaluate ./study --import ./results', 'take results that were computed on another machine'],
  ]);
};

/** Adds `layerloom table`. */
export const addTable = (program: Command): void => {
  const command = program
    .command('table')
    .helpGroup(commandGroups.experiments)
    .description('make tables of scores: by language and method, experts, soups, gains, paired comparisons')
    .argument('[dir]', 'the directory of an experiment that was evaluated; not needed with --summaries')
    .addOption(
      optionOf('--table <name...>', 'only these tables: table-1, table-2/swahili, gains', {
        default: 'all',
      }),
    )
    .addOption(
      optionOf('--metric <name>', 'metric of all tasks that have it, as metric,filter', {
        default: "each task's own",
      }),
    )
    .addOption(
      optionOf('--summaries <file...>', 'CSV files of published figures, which fill cells without results'),
    )
    .addOption(
      new Option('--format <format>', 'format of the tables; latex uses booktabs')
        .choices(['text', 'markdown', 'csv', 'latex', 'json'])
        .default('text')
        .helpGroup(output),
    )
    .addOption(optionOf('-o, --out <file>', 'file to write', { default: printsByDefault, group: output }));
  addOutputOptions(command).action(async (directory: string | undefined, options: TableCliOptions) => {
    // Loaded on demand: other commands need no statistics.
    const { tableCommand } = await import('./table.js');
    await tableCommand(directory, options);
  });
  addExamples(command, [
    ['layerloom table ./study', 'print all tables'],
    ['layerloom table ./study --table gains --format latex -o gains.tex', 'write one table for a paper'],
  ]);
};

/** Adds `layerloom report`. */
export const addReport = (program: Command): void => {
  const command = program
    .command('report')
    .helpGroup(commandGroups.experiments)
    .description(
      'write one page of an experiment: tables, pairs, configurations, every merge and its answers',
    )
    .argument('<dir>', 'the directory of a batch, with or without scores')
    .addOption(
      optionOf('--samples <n>', 'problems of each task whose texts the page carries', {
        parse: toNumber,
        default: '50',
      }),
    )
    .addOption(
      optionOf('--analysis <dir>', 'directory of layerloom analyze, whose pictures the page shows', {
        default: "analysis in the batch's",
      }),
    )
    .addOption(optionOf('--summaries <file...>', 'CSV files of published figures for the tables'))
    .addOption(optionOf('-o, --out <file>', 'the HTML file to write', { required: true, group: output }))
    .addOption(optionOf('--force', 'replace a file that is not a page of layerloom', { group: output }));
  addOutputOptions(command).action(async (directory: string, options: ReportCliOptions) => {
    // Loaded on demand: other commands need no pages.
    const { reportCommand } = await import('./report.js');
    await reportCommand(directory, options);
  });
  addExamples(command, [
    ['layerloom report ./study -o study.html', 'a page that needs no network'],
    [
      'layerloom report ./study --analysis ./analysis --samples 10 -o study-small.html',
      'with the changes of the experts, and fewer answers',
    ],
  ]);
};
