import { Command } from 'commander';
import { openCheckpoint } from '../checkpoint/open.js';
import { describeCheckpoint, summariseCheckpoint } from '../report/inspect.js';
import { version } from '../version.js';
import type { AnalyzeCliOptions } from './analyze.js';
import { addExperiments } from './experiment-commands.js';
import { addMerging } from './merge-commands.js';
import { addOutputOptions, type OutputOptions, toNumber } from './options.js';
import { printJson, printLine, warn } from './print.js';

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
  addMerging(program);
  addExperiments(program);
  addAnalyze(program);
  addInspect(program);
  addStore(program);
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
