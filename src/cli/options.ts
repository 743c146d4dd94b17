import { type Command, Option } from 'commander';
import { type Link, links } from '../engine/output/link.js';
import { LayerloomError } from '../errors.js';
import type { Layout } from '../plan/layout.js';
import type { DtypeName } from '../tensor/dtype.js';

/**
 * Values of the options of merging commands. A value that is not a number stays text, for the called function
 * to refuse with the parameter's name.
 */
export interface CommonOptions {
  readonly out?: string;
  readonly layout?: Layout;
  readonly maxShardSize?: string;
  readonly dtype?: DtypeName;
  readonly threads?: number;
  readonly resume?: boolean;
  readonly force?: boolean;
  readonly checksums?: boolean;
  readonly link?: Link;
  readonly dryRun?: boolean;
  readonly analysis?: string;
}

/** Values of the options that every command has. */
export interface OutputOptions {
  readonly json?: boolean;
  readonly quiet?: boolean;
  readonly verbose?: boolean;
}

/**
 * Parses a number. Returns other text unchanged, for the called function to refuse with the parameter's name.
 */
export const toNumber = (text: string): number => {
  const value = Number(text);
  return text.trim() === '' || Number.isNaN(value) ? (text as unknown as number) : value;
};

/** Parses numbers separated by commas, each as `toNumber`. */
const toNumbers = (text: string): number[] => text.split(',').map(toNumber);

export const toWeights = (text: string): number[] | 'magnitude' =>
  text === 'magnitude' ? text : toNumbers(text);

/** Parses a part of several: `2/8` is the third of eight. @throws LayerloomError INVALID_PARAMETER */
export const toPart = (parameter: string, text: string): { index: number; count: number } => {
  const groups = /^(?<index>\d+)\/(?<count>\d+)$/.exec(text)?.groups;
  const [index, count] = [Number(groups?.['index']), Number(groups?.['count'])];
  if (!(count >= 1 && index < count))
    throw new LayerloomError('INVALID_PARAMETER', {
      parameter,
      value: text,
      expected: 'i/n with i from 0 to n − 1',
    });
  return { index, count };
};

/** Adds `--analysis`, for commands whose methods may need task vectors. */
export const addAnalysisOption = (command: Command): Command =>
  command.option(
    '--analysis <dir>',
    'read task vectors from this directory of `layerloom analyze` instead of the weights',
  );

/** Adds the options that every command has. */
export const addOutputOptions = (command: Command): Command =>
  command
    .option('--json', 'print the result as JSON')
    .option('-q, --quiet', 'print nothing but errors')
    .option('-v, --verbose', 'print stack traces with errors');

/** Adds the options of every command that writes checkpoints. */
export const addMergeOptions = (command: Command): Command =>
  addOutputOptions(
    command
      .option('-o, --out <dir>', 'directory to create')
      .addOption(
        new Option('--layout <layout>', 'one shard per layer, or shards of up to the maximum size')
          .choices(['layer', 'size'])
          .default('layer'),
      )
      .option('--max-shard-size <size>', 'maximum tensor data in a shard: 5GB, 500MB', '5GB')
      .addOption(new Option('--out-shard-size <size>', "mergekit's name for --max-shard-size").hideHelp())
      .option(
        '--dtype <dtype>',
        'convert every floating tensor: bfloat16, float16, float32, float64, float8_e4m3fn, float8_e5m2',
      )
      .option('-j, --threads <n>', 'worker threads (default: the usable cores)', toNumber)
      .option('--resume', 'keep finished work when interrupted, and continue from it next time')
      .option('--force', 'replace an output that layerloom wrote')
      .option('--checksums', 'record the SHA-256 of inputs and shards')
      .addOption(
        new Option(
          '--link <how>',
          'how to make shards equal to whole input files (default: reflink if the file system can, else copy)',
        ).choices([...links]),
      )
      .option('--dry-run', 'print the plan and write nothing'),
  );

/** @throws LayerloomError USAGE without `--out`, which a dry run does not need */
export const requireOut = ({ out }: Pick<CommonOptions, 'out'>): string => {
  if (out === undefined)
    throw new LayerloomError('USAGE', { reason: "required option '-o, --out <dir>' not specified" });
  return out;
};
