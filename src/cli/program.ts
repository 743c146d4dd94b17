import { Command, Option } from 'commander';
import type { SelectParameters } from '../api/select-from-files.js';
import { openCheckpoint } from '../checkpoint/open.js';
import { presetNames, presets } from '../experiment/preset-merges.js';
import { methods } from '../methods/index.js';

import type { RecipeInput, RecipesByMethod } from '../methods/recipes.js';
import { describeCheckpoint, summariseCheckpoint } from '../report/inspect.js';
import { version } from '../version.js';
import type { AnalyzeCliOptions } from './analyze.js';
import type { BatchCliOptions } from './batch.js';
import type { EvaluateCliOptions } from './evaluate.js';
import type { ExperimentInitOptions, ExperimentSlurmOptions } from './experiment.js';
import { mergeCommand } from './merge.js';
import {
  addAnalysisOption,
  addMergeOptions,
  addOutputOptions,
  type CommonOptions,
  type OutputOptions,
  toNumber,
  toWeights,
} from './options.js';
import { loadPlugins } from './plugin.js';
import { printJson, printLine, warn } from './print.js';
import type { ReportCliOptions } from './report.js';
import type { SearchCliOptions } from './search.js';
import type { TableCliOptions } from './table.js';

type Options = CommonOptions & OutputOptions;

/**
 * Makes a recipe of a command's options that have the name of a parameter of the method, and of `--dtype`.
 */
const recipeOf = (method: keyof RecipesByMethod, options: object): RecipeInput => {
  const parameters = [...Object.keys(methods.get(method)?.schema.shape ?? {}), 'dtype'];
  const given = Object.entries(options).filter(([name]) => parameters.includes(name));
  return { method, ...Object.fromEntries(given) } as unknown as RecipeInput;
};

const addSwap = (program: Command): void => {
  const command = program
    .command('swap')
    .description(
      'swap layers of two experts: bottom and top from the language expert, the middle from the task expert',
    )
    .requiredOption(
      '--task <model>',
      'the task expert: a directory, a .safetensors file or org/name in the hub cache',
    )
    .requiredOption('--lang <model>', 'the language expert')
    .option(
      '--base <model>',
      'the model both were fine-tuned from; checked against them and named in the model card',
    )
    .option('--bottom <n>', 'layers from the language expert, next to the embeddings (default: 5)', toNumber)
    .option('--top <n>', 'layers from the language expert, next to the head (default: 2)', toNumber)
    .option('--bottom-transition <n>', 'averaged layers above the bottom ones (default: 0)', toNumber)
    .option('--top-transition <n>', 'averaged layers below the top ones (default: 0)', toNumber)
    .option(
      '--weights <wt,wl>',
      'weights of the task and language experts in averages, or magnitude: 1 / mean MAV (default: 1,1)',
      toWeights,
    )
    .option('--others <which>', 'tensors outside the layers: average, task or language (default: average)')
    .option(
      '--norms <which>',
      'norms inside the layers: layer, as the rest of their layer, or average, as --others (default: layer)',
    )
    .option(
      '--scaled',
      "scale the numbers of layers from the paper's 32 to the models' number, and print them",
    );
  addMergeOptions(addAnalysisOption(command)).action(
    async ({ lang: language, ...options }: Options & { lang: string }) => {
      await mergeCommand(recipeOf('layer_swap', { ...options, language }), options);
    },
  );
};

const addSoup = (program: Command): void => {
  const command = program
    .command('soup')
    .description('average models, uniformly or by weights')
    .argument('<model...>', 'a model, or NAME=MODEL')
    .option(
      '--base <model>',
      'the model all were fine-tuned from; checked against them and named in the model card',
    )
    .option(
      '--weights <w,w,...>',
      'one weight for each model, or magnitude: 1 / mean MAV (default: all 1)',
      toWeights,
    );
  addMergeOptions(addAnalysisOption(command)).action(async (models: string[], options: Options) => {
    await mergeCommand(recipeOf('soup', { ...options, models }), options);
  });
};

const addRevert = (program: Command): void => {
  const command = program
    .command('revert')
    .description('revert parts of an expert to its base: layers by location, or rows that changed little')
    .argument('<expert>', 'a directory, a .safetensors file or org/name in the hub cache')
    .requiredOption('--base <model>', 'the model that the expert was fine-tuned from')
    .option('--bottom <n>', 'first layers to revert (default: 5)', toNumber)
    .option('--top <n>', 'last layers to revert (default: 2)', toNumber)
    .option('--others <which>', 'tensors outside the layers: keep or revert (default: keep)')
    .option(
      '--norms <which>',
      'norms inside the layers: layer, as the rest of their layer, or average, as --others (default: layer)',
    )
    .option('--threshold <t>', 'revert the rows whose MAV is below it, instead of layers', toNumber)
    .option(
      '--target-kept <share>',
      'the largest threshold that keeps at least this share of the parameters',
      toNumber,
    )
    .option('--rows <which>', 'rows are input or output features (default: input)');
  addMergeOptions(addAnalysisOption(command)).action(async (model: string, options: Options) => {
    await mergeCommand(recipeOf('revert', { ...options, model }), options);
  });
};

const addRelayout = (program: Command): void => {
  const command = program
    .command('relayout')
    .description('rewrite a checkpoint in other shards, so that later merges can link its layers')
    .argument('<checkpoint>', 'a directory, a .safetensors file or org/name in the hub cache');
  addMergeOptions(command).action(async (model: string, options: Options) => {
    await mergeCommand(recipeOf('relayout', { ...options, model }), options);
  });
};

const addMerge = (program: Command): void => {
  const command = program
    .command('merge')
    .description(
      "merge by a recipe, layerloom's or mergekit's: any method, slices, gradients, nested recipes",
    )
    .argument(
      '<recipe>',
      "a YAML file; its paths are relative to its folder, in mergekit's dialect to the working directory",
    )
    .option('--explain <tensor>', 'print how one tensor of the output is computed, and write nothing')
    .option('--strict', 'refuse a filter that matches no tensor, instead of warning')
    .option(
      '--plugin <file>',
      'a module that registers your own methods; may be given more than once',
      (file: string, files: readonly string[] = []) => [...files, file],
    );
  addMergeOptions(addAnalysisOption(command)).action(
    async (recipe: string, options: Options & { explain?: string; strict?: boolean; plugin?: string[] }) => {
      await loadPlugins(options.plugin ?? []);
      await mergeCommand(recipe, options);
    },
  );
};

const addAnalyze = (program: Command): void => {
  const command = program
    .command('analyze')
    .description('show which layers and matrices fine-tuning changed: tables, pictures and a page')
    .argument('[expert...]', 'an expert, or NAME=EXPERT')
    .option('--base <model>', 'the model that the experts were fine-tuned from')
    .option('--from <file...>', 'NAME.mav.safetensors of earlier analyses, instead of weights')
    .option('-o, --out <dir>', 'directory for the files')
    .option(
      '--threshold <t>',
      'rows whose MAV is above it count as changed; auto: what a third of the rows exceed (default: 1e-5)',
      toNumber,
    )
    .option('--rows <which>', 'rows are input or output features (default: input)')
    .option('--bottom <n>', 'number of first layers in the summary (default: 5)', toNumber)
    .option('--top <n>', 'number of last layers in the summary (default: 2)', toNumber)
    .option('--compare <csv...>', 'published tables to draw beside the experts')
    .option('--allow-non-finite', 'exclude rows with a NaN or an infinity instead of refusing them')
    .option('-j, --threads <n>', 'worker threads (default: the usable cores)', toNumber);
  addOutputOptions(command).action(async (experts: string[], options: AnalyzeCliOptions) => {
    // Loaded on demand: other commands need no pages and pictures.
    const { analyzeCommand } = await import('./analyze.js');
    await analyzeCommand(experts, options);
  });
};

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

const addInspect = (program: Command): void => {
  const command = program
    .command('inspect')
    .description('show architecture, layers, dtypes, parameters, shards and sizes')
    .argument('<checkpoint>', 'a directory, a .safetensors file or org/name in the hub cache');
  addOutputOptions(command).action(async (model: string, { json, quiet }: OutputOptions) => {
    const summary = summariseCheckpoint(await openCheckpoint(model));
    if (json) printJson(summary);
    else if (!quiet) {
      summary.warnings.forEach(warn);
      printLine(describeCheckpoint(summary));
    }
  });
};

const addStore = (program: Command): void => {
  const store = program.command('store').description('list, verify and clean up a store of shared shards');
  const add = (name: string, description: string): Command =>
    addOutputOptions(store.command(name).description(description).argument('<dir>', 'the store'));
  add('ls', 'list the shards, and those being computed').action(
    async (directory: string, options: OutputOptions) => {
      const { storeLsCommand } = await import('./store.js');
      await storeLsCommand(directory, options);
    },
  );
  add('verify', 'read every shard and compare it with its recorded checksum')
    .option('-j, --threads <n>', 'worker threads (default: the usable cores)', toNumber)
    .action(async (directory: string, options: OutputOptions & { threads?: number }) => {
      const { storeVerifyCommand } = await import('./store.js');
      await storeVerifyCommand(directory, options);
    });
  add('gc', 'remove shards that no experiment needs, and leftovers of dead processes')
    .option('--dry-run', 'print what would be removed, and remove nothing')
    .action(async (directory: string, options: OutputOptions & { dryRun?: boolean }) => {
      const { storeGcCommand } = await import('./store.js');
      await storeGcCommand(directory, options);
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

/**
 * Builds the command line. Errors are thrown for `main` to print; commander neither prints them nor exits.
 */
export const buildProgram = (): Command => {
  const program = new Command('layerloom')
    .description('Merges fine-tuned LLM checkpoints by layer swapping: exact, fast, small in memory')
    .version(version)
    .exitOverride()
    .configureOutput({ writeErr: () => undefined })
    .showSuggestionAfterError(true);
  addSwap(program);
  addSoup(program);
  addRevert(program);
  addMerge(program);
  addRelayout(program);
  addBatch(program);
  addEvaluate(program);
  addTable(program);
  addSearch(program);
  addSelect(program);
  addReport(program);
  addAnalyze(program);
  addInspect(program);
  addStore(program);
  addExperiment(program);
  program.addHelpText(
    'after',
    `
Examples:
  $ layerloom swap --task ./math-1 --lang ./swh-1 -o ./merged
  $ layerloom merge recipe.yaml --dry-run

Exit codes: 0 done, 1 failed, 2 usage or recipe, 3 incompatible or corrupt input, 4 part of a batch failed, 130 interrupted.`,
  );
  return program;
};
