import { type Command, Option } from 'commander';
import type { SelectParameters } from '../api/select-from-files.js';
import { presetNames, presets } from '../experiment/preset-merges.js';
import type { BatchCliOptions } from './batch.js';
import type { EvaluateCliOptions } from './evaluate.js';
import type { ExperimentInitOptions, ExperimentSlurmOptions } from './experiment.js';
import {
  addAnalysisOption,
  addMergeOptions,
  addOutputOptions,
  type OutputOptions,
  toNumber,
} from './options.js';
import type { ReportCliOptions } from './report.js';
import type { SearchCliOptions } from './search.js';
import type { TableCliOptions } from './table.js';

// Commands of experiments: their options. What they do is loaded when one is called.

const addBatch = (program: Command): void => {
  const command = program
    .command('batch')
    .description(
      'run an experiment: every pair, configuration and language, each distinct shard written once',
    )
    .argument('<experiment>', 'a YAML file (layerloom experiment init writes one)')
    .option('--store <dir>', 'directory of the shards that merges share (default: .store in the output)')
    .option('--shard-range <i/n>', 'make only part i (from 0) of n of the shards, and no merges');
  addMergeOptions(addAnalysisOption(command)).action(async (file: string, options: BatchCliOptions) => {
    const { batchCommand } = await import('./batch.js');
    // Commander's defaults are dropped: without the option, the experiment's value holds.
    const given = (name: 'layout' | 'maxShardSize') =>
      command.getOptionValueSource(name) === 'cli' ? options[name] : undefined;
    await batchCommand(file, {
      ...options,
      layout: given('layout'),
      maxShardSize: given('maxShardSize'),
    } as BatchCliOptions);
  });
};

const addEvaluate = (program: Command): void => {
  const command = program
    .command('evaluate')
    .description("score an experiment's models with lm-evaluation-harness, by its evaluate: block")
    .argument('<dir>', 'the directory of a batch, also while it still runs')
    .option('--lm-eval <command>', "the harness's command (default: lm_eval)")
    .option(
      '--only <pattern>',
      'only models of this name; * stands for any text; may be given more than once',
      (pattern: string, patterns: readonly string[] = []) => [...patterns, pattern],
    )
    .option('--part <i/n>', 'score part i (from 0) of n of the models')
    .option('--jobs <n>', "models to score at once (default: the experiment's)", toNumber)
    .option('--limit <n>', "first problems of every task (default: the experiment's)", toNumber)
    .option('--resume', 'keep the answers of a model that is interrupted, and continue from them')
    .option('--force', 'score again what has scores')
    .option('--import <dir>', 'take results_*.json that lm_eval wrote elsewhere, and run nothing')
    .option('--print', 'print the commands that would run, and run none');
  addOutputOptions(command).action(async (directory: string, options: EvaluateCliOptions) => {
    const { evaluateCommand } = await import('./evaluate.js');
    await evaluateCommand(directory, options);
  });
};

const addTable = (program: Command): void => {
  const command = program
    .command('table')
    .description('make tables of scores: by language and method, experts, soups, gains, paired comparisons')
    .argument('[dir]', 'the directory of an experiment that was evaluated')
    .addOption(
      new Option('--format <format>', 'text, Markdown, CSV, LaTeX (booktabs) or JSON')
        .choices(['text', 'markdown', 'csv', 'latex', 'json'])
        .default('text'),
    )
    .option('--table <name...>', 'only these tables: table-1, table-2/swahili, gains (default: all)')
    .option(
      '--metric <name>',
      "metric of all tasks that have it, as metric,filter (default: each task's own)",
    )
    .option('--summaries <file...>', 'CSV files of published figures, which fill cells without results')
    .option('-o, --out <file>', 'file to write (default: print)');
  addOutputOptions(command).action(async (directory: string | undefined, options: TableCliOptions) => {
    // Loaded on demand: other commands need no statistics.
    const { tableCommand } = await import('./table.js');
    await tableCommand(directory, options);
  });
};

const addReport = (program: Command): void => {
  const command = program
    .command('report')
    .description(
      'write one page of an experiment: tables, pairs, configurations, every merge and its answers',
    )
    .argument('<dir>', 'the directory of a batch, with or without scores')
    .option('-o, --out <file>', 'the HTML file to write')
    .option('--samples <n>', 'problems of each task whose texts the page carries (default: 50)', toNumber)
    .option('--analysis <dir>', "directory of `layerloom analyze` (default: analysis in the batch's)")
    .option('--summaries <file...>', 'published figures (CSV) for the tables')
    .option('--force', 'replace a file that is not a page of layerloom');
  addOutputOptions(command).action(async (directory: string, options: ReportCliOptions) => {
    // Loaded on demand: other commands need no pages.
    const { reportCommand } = await import('./report.js');
    await reportCommand(directory, options);
  });
};

const addSearch = (program: Command): void => {
  const command = program
    .command('search')
    .description("search an experiment's configurations for the best, within a budget of evaluations")
    .argument('<experiment>', 'a YAML file; its grids are the configurations, its search: block the defaults')
    .option('-o, --out <dir>', 'directory for merges, results, search.json and search.svg')
    .option('--language <language>', 'the language to search for, if the experiment has several')
    .option('--strategy <strategy>', 'halving or descent (default: halving)')
    .option('--budget <n>', "problem-evaluations, or a share of the whole grid's (default: 25%)")
    .option('--problems <n>', "number of the task's problems (default: 250)", toNumber)
    .option('--hold-out <n>', 'last problems to compare choice and default on (default: 80 of 250)', toNumber)
    .option('--default <name>', 'configuration to compare with (default: the entry default)')
    .option('--entries <name...>', 'entries of the experiment to search (default: all)')
    .option('--pair <task+lang...>', 'pairs to score (default: all of the language)')
    .option('--task <task>', "task to search by (default: the language's first)")
    .option('--metric <metric>', 'metric to search by: exact_match,flexible-extract')
    .option('--analysis <dir>', 'directory of layerloom analyze, which says what to try first')
    .option('--seed <n>', 'seed of the order without an analysis (default: 0)', toNumber)
    .option('--store <dir>', 'directory of the shards that merges share (default: .store in the output)')
    .option('--lm-eval <command>', "the harness's command (default: lm_eval)")
    .option('--jobs <n>', "models to score at once (default: the experiment's)", toNumber)
    .option('-j, --threads <n>', 'worker threads (default: the usable cores)', toNumber)
    .option('--resume', 'continue in a directory with merges and results');
  addOutputOptions(command).action(async (file: string, options: SearchCliOptions) => {
    const { searchCommand } = await import('./search.js');
    await searchCommand(file, options);
  });
};

const addSelect = (program: Command): void => {
  const command = program
    .command('select')
    .description('choose checkpoints of training runs that balance score and diversity')
    .requiredOption(
      '--scores <csv|dir>',
      'columns name and score, or the directory of an evaluated experiment',
    )
    .requiredOption(
      '--analysis <dir>',
      'directory of layerloom analyze, whose overlap.json has the distances',
    )
    .option('--count <n>', 'number of checkpoints to choose (default: 3)', toNumber)
    .option('--balance <x>', 'weight of diversity against score (default: 1)', toNumber);
  addOutputOptions(command).action(async (options: SelectParameters & OutputOptions) => {
    const { selectCommand } = await import('./select.js');
    await selectCommand(options);
  });
};

const presetHelp = `
Presets:
${presetNames.map((name) => `  ${name.padEnd(14)}${presets[name].title}`).join('\n')}`;

const addExperiment = (program: Command): void => {
  const experiment = program
    .command('experiment')
    .description('write experiment files, and jobs that run them');
  const init = experiment
    .command('init')
    .description("write an experiment's file, to be edited")
    .requiredOption('--preset <preset>', `the merges: ${presetNames.join(', ')}`)
    .option('--base <model>', 'the model that all experts were fine-tuned from')
    .option('--task <name=dir...>', 'task experts')
    .option('--lang <lang:name=dir...>', 'language experts')
    .option('-o, --out <file>', 'file to create (default: print it)')
    .addHelpText('after', presetHelp);
  addOutputOptions(init).action(async (options: ExperimentInitOptions) => {
    const { experimentInitCommand } = await import('./experiment.js');
    await experimentInitCommand(options);
  });
  const slurm = experiment
    .command('slurm')
    .description('print a script that submits an experiment to SLURM, in parts')
    .argument('<experiment>', 'a YAML file')
    .option('-o, --out <dir>', "directory for the merges (default: the file's name without its ending)")
    .option('--store <dir>', "directory for the shards that merges share (default: batch's own)")
    .option('--parts <n>', 'number of jobs to divide the work among (default: 8)', toNumber)
    .option('--time <time>', 'time limit of each job, in the format of sbatch: 02:00:00')
    .option('--cpus <n>', 'processors, and worker threads, of each job', toNumber)
    .option('--memory <size>', 'memory of each job, in the format of sbatch: 32G')
    .option('--partition <name>', 'partition to submit to')
    .option('--account <name>', 'account to charge the jobs to')
    .option('--evaluate', 'also submit jobs that score the models, after the merges')
    .option('--evaluate-parts <n>', 'number of jobs to divide the models among (default: --parts)', toNumber)
    .option('--gpus <n>', 'GPUs of each job that scores (default: 1)', toNumber)
    .option('--evaluate-time <time>', 'time limit of each job that scores (default: --time)')
    .option('--evaluate-partition <name>', 'partition of the jobs that score (default: --partition)')
    .option('--evaluate-account <name>', 'account of the jobs that score (default: --account)')
    .option('--lm-eval <command>', 'the command of lm-evaluation-harness on the nodes');
  addOutputOptions(slurm).action(async (file: string, options: ExperimentSlurmOptions) => {
    const { experimentSlurmCommand } = await import('./experiment.js');
    await experimentSlurmCommand(file, options);
  });
};

/** Adds the commands that run experiments, score them and show what came of it. */
export const addExperiments = (program: Command): void => {
  addBatch(program);
  addEvaluate(program);
  addTable(program);
  addReport(program);
  addSearch(program);
  addSelect(program);
  addExperiment(program);
};
