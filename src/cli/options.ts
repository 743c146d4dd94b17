import { type Command, Option } from 'commander';
import { type Link, links } from '../engine/output/link.js';
import type { Layout } from '../plan/layout.js';
import type { DtypeName } from '../tensor/dtype.js';

/** The common options as they should be. Values are passed on as they were typed, and refused by name by the function that they go to. */
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

/** Understood by every command. */
export interface OutputOptions {
  readonly json?: boolean;
  readonly quiet?: boolean;
  readonly verbose?: boolean;
}

/** `5` to 5. What is no number is passed on as it is, to be refused with the parameter's name and what it expects. */
export const toNumber = (text: string): number => {
  const value = Number(text);
  return text.trim() === '' || Number.isNaN(value) ? (text as unknown as number) : value;
};

export const toNumbers = (text: string): number[] => text.split(',').map(toNumber);

export const toWeights = (text: string): number[] | 'magnitude' =>
  text === 'magnitude' ? text : toNumbers(text);

/** For commands whose methods may need task vectors. */
export const addAnalysisOption = (command: Command): Command =>
  command.option(
    '--analysis <dir>',
    'take task vectors from what `layerloom analyze` wrote there, not from the weights',
  );

export const addOutputOptions = (command: Command): Command =>
  command
    .option('--json', 'print the result as JSON')
    .option('-q, --quiet', 'print nothing but errors')
    .option('-v, --verbose', 'print stack traces with errors');

/** What every command has that writes a checkpoint. */
export const addMergeOptions = (command: Command): Command =>
  addOutputOptions(
    command
      .option('-o, --out <dir>', 'directory to create')
      .addOption(
        new Option('--layout <layout>', 'a shard for each layer, or shards as large as allowed')
          .choices(['layer', 'size'])
          .default('layer'),
      )
      .option('--max-shard-size <size>', 'most tensor data in a shard: 5GB, 500MB', '5GB')
      .addOption(new Option('--out-shard-size <size>', "mergekit's name of --max-shard-size").hideHelp())
      .option(
        '--dtype <dtype>',
        'convert every floating tensor: bfloat16, float16, float32, float64, float8_e4m3fn, float8_e5m2',
      )
      .option('-j, --threads <n>', 'worker threads (default: the usable cores)', toNumber)
      .option('--resume', 'keep what is done when interrupted, and continue it next time')
      .option('--force', 'replace an output that layerloom wrote')
      .option('--checksums', 'record the SHA-256 of inputs and shards')
      .addOption(
        new Option(
          '--link <how>',
          'shards that are whole input files (default: reflink where the file system can, else copy)',
        ).choices([...links]),
      )
      .option('--dry-run', 'print the plan and write nothing'),
  );
