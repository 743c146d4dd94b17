import { type Command, Option } from 'commander';
import { LayerloomError } from '../base/errors.js';
import { invalidParameter } from '../base/invalid-parameter.js';
import { type OutputForm, outputForms } from '../compile/adapters/output-forms.js';
import { type Link, links } from '../engine/output/link.js';
import { chatTemplateNames } from '../model/tokenizer/chat-templates/chat-template.js';
import type { Layout } from '../plan/layout.js';
import { arithmeticDtypes, type DtypeName, torchName } from '../tensor/dtype.js';
import { optionGroups, optionOf } from './help.js';

/**
 * Values of the options of merging commands. A value that is not a number stays text, for the called function
 * to refuse with the parameter's name.
 */
export interface CommonOptions {
  readonly out?: string;
  readonly layout?: Layout;
  readonly maxShardSize?: string;
  readonly dtype?: DtypeName;
  readonly as?: OutputForm;
  readonly rank?: number;
  readonly tokenizer?: string;
  readonly threads?: number;
  readonly resume?: boolean;
  readonly force?: boolean;
  readonly checksums?: boolean;
  readonly allowNonFinite?: boolean;
  readonly link?: Link;
  readonly dryRun?: boolean;
  readonly download?: boolean;
  readonly analysis?: string;
}

/** The forms of a model on the command line, in words for help. */
export const modelWords = 'a directory, a .safetensors file or org/name in the hub cache';

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

/** Adds `NAME=VALUE` to those given before; a value that is no number stays a text, which the called function judges. */
export const toNamed = (
  text: string,
  previous: Readonly<Record<string, unknown>> = {},
): Record<string, unknown> => {
  const at = text.lastIndexOf('=');
  return { ...previous, [at < 0 ? text : text.slice(0, at)]: at < 0 ? '' : toNumber(text.slice(at + 1)) };
};

/** Parses numbers separated by commas, each as `toNumber`. */
const toNumbers = (text: string): number[] => text.split(',').map(toNumber);

export const toWeights = (text: string): number[] | 'magnitude' =>
  text === 'magnitude' ? text : toNumbers(text);

/** Parses a part of several: `2/8` is the third of eight. @throws LayerloomError INVALID_PARAMETER */
export const toPart = (parameter: string, text: string): { index: number; count: number } => {
  const groups = /^(?<index>\d+)\/(?<count>\d+)$/.exec(text)?.groups;
  const [index, count] = [Number(groups?.['index']), Number(groups?.['count'])];
  if (!(count >= 1 && index < count)) throw invalidParameter(parameter, text, 'i/n with i from 0 to n − 1');
  return { index, count };
};

/** `-j, --threads <n>`, of every command that has worker threads. */
export const threadsOption = (): Option =>
  optionOf('-j, --threads <n>', 'worker threads', {
    parse: toNumber,
    default: 'the usable cores',
    group: optionGroups.running,
  });

/** `--download`, of every command that opens models. */
export const downloadOption = (
  what = 'what is needed of models that are not here: headers, then byte ranges',
): Option =>
  optionOf('--download', `fetch ${what} from the Hugging Face hub`, { group: optionGroups.running });

/** `--allow-non-finite`, of every command that merges. */
export const nonFiniteOption = (): Option =>
  optionOf(
    '--allow-non-finite',
    'compute with values that are NaN or infinite, instead of refusing them; copies are never looked at',
    { group: optionGroups.output },
  );

/** `--expect <stamp>`, of commands that jobs of clusters run. */
export const expectOption = (): Option =>
  optionOf(
    '--expect <stamp>',
    'refuse to run by another version, or on another text of the experiment; batch --dry-run --json prints it',
    { group: optionGroups.running },
  );

/** Adds `--analysis`, for commands whose methods may need task vectors. */
export const addAnalysisOption = (command: Command): Command =>
  command.addOption(
    optionOf(
      '--analysis <dir>',
      'directory of layerloom analyze: read task vectors from it, not the weights',
    ),
  );

/** Adds `--tokenizer`, for commands that merge models whose vocabularies may differ. */
export const addTokenizerOption = (
  command: Command,
  default_ = 'auto',
  ofModels = '; or one of the models',
): Command =>
  command.addOption(
    optionOf(
      '--tokenizer <which>',
      `vocabulary of the output where the models differ in theirs: auto, the union where shared tokens have one id; strict, an error; union; base${ofModels}`,
      { default: default_, group: optionGroups.output },
    ),
  );

/** Adds `--as`, for commands that merge models which may be adapters. */
export const addFormOption = (command: Command): Command =>
  command
    .addOption(
      optionOf(
        '--as <form>',
        'write a LoRA adapter, or full weights: of bare adapters, whose base is --base or what they name',
        {
          choices: [...outputForms],
          default: 'an adapter where all models are bare adapters',
          group: optionGroups.output,
        },
      ),
    )
    .addOption(
      optionOf(
        '--rank <r>',
        'of an adapter: truncate averages of products to this rank, and report their errors',
        {
          parse: toNumber,
          default: 'exact, of the rank that all have together',
          group: optionGroups.output,
        },
      ),
    );

/** Adds `--chat-template` and `--save-recipe`, for commands that write one checkpoint. */
export const addSaveOption = (command: Command): Command =>
  command
    .addOption(
      optionOf(
        '--chat-template <template>',
        `chat template of the output: auto (the one that most models have), a format (${chatTemplateNames.slice(1).join(', ')}) or the file of a template`,
        { default: "the recipe's, or that of the tokenizer's model", group: optionGroups.output },
      ),
    )
    .addOption(
      optionOf(
        '--save-recipe <file>',
        'write the recipe of this merge, with what was found from the models as numbers',
        { group: optionGroups.output },
      ),
    );

/** Adds the options that every command has. */
export const addOutputOptions = (command: Command): Command => {
  const group = optionGroups.messages;
  return command
    .addOption(optionOf('--json', 'print the result as JSON', { group }))
    .addOption(optionOf('-q, --quiet', 'print nothing but errors', { group }))
    .addOption(optionOf('-v, --verbose', 'print stack traces with errors', { group }));
};

/** Facts of `addMergeOptions` in which commands differ. */
export interface MergeOptionFacts {
  /** The options with which `--out` is not required. */
  readonly outRequired?: string;
  /** The default of `--link`. */
  readonly link?: string;
}

/** Adds the options of every command that writes checkpoints. */
export const addMergeOptions = (
  command: Command,
  {
    outRequired = 'unless --dry-run',
    link = 'reflink if the file system can, else copy',
  }: MergeOptionFacts = {},
): Command => {
  const { output, running } = optionGroups;
  command
    .addOption(optionOf('-o, --out <dir>', 'directory to create', { required: outRequired, group: output }))
    .addOption(
      new Option('--layout <layout>', 'shards of the output: one per layer, or of up to the maximum size')
        .choices(['layer', 'size'])
        .default(undefined, "the recipe's, or layer")
        .helpGroup(output),
    )
    .addOption(
      new Option('--max-shard-size <size>', 'maximum tensor data in a shard: 5GB, 500MB')
        .default(undefined, "the recipe's, or 5GB")
        .helpGroup(output),
    )
    .addOption(new Option('--out-shard-size <size>', "mergekit's name for --max-shard-size").hideHelp())
    .addOption(
      optionOf('--dtype <dtype>', 'convert every floating tensor to this dtype', {
        choices: arithmeticDtypes.map(torchName),
        default: "each tensor's own",
        group: output,
      }),
    )
    .addOption(
      new Option(
        '--link <how>',
        'make shards that equal whole input files in this way, instead of writing them',
      )
        .choices([...links])
        .default(undefined, link)
        .helpGroup(output),
    )
    .addOption(optionOf('--checksums', 'record the SHA-256 of inputs and shards', { group: output }))
    .addOption(nonFiniteOption())
    .addOption(optionOf('--force', 'replace an output that layerloom wrote', { group: output }))
    .addOption(
      optionOf('--resume', 'keep finished work when interrupted, and continue from it next time', {
        group: running,
      }),
    )
    .addOption(downloadOption())
    .addOption(threadsOption())
    .addOption(optionOf('--dry-run', 'print the plan and write nothing', { group: running }));
  return addOutputOptions(command);
};

/** @throws LayerloomError USAGE without `--out`, which a dry run does not need */
export const requireOut = ({ out }: Pick<CommonOptions, 'out'>): string => {
  if (out === undefined)
    throw new LayerloomError('USAGE', { reason: "required option '-o, --out <dir>' not specified" });
  return out;
};
