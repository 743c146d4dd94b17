import { optionGroups } from '../framework/help.js';
import { option } from '../framework/option.js';
import { numberOption } from './usual-options.js';

const { output, running } = optionGroups;

/** Forms of a model on the command line, for help. */
export const modelWords = 'a directory, a file of weights or org/name in the hub cache';

export const threads = numberOption(
  '-j, --threads <n>',
  'worker threads',
  'the usable cores; 1 for one small merge',
  running,
);

export const download = (what = 'what is needed of models that are not here: headers, then byte ranges') =>
  option('--download', `fetch ${what} from the Hugging Face hub`, { group: running });

export const allowNonFinite = option(
  '--allow-non-finite',
  'compute with values that are NaN or infinite, instead of refusing them; copies are never looked at',
  { group: output },
);

/** The stamp of jobs on clusters. */
export const expect = option(
  '--expect <stamp>',
  'refuse to run by another version, or on another text of the experiment; batch --dry-run --json prints it',
  { group: running },
);

export const stack = option(
  '--stack <which>',
  'stack of layers that is meant in models that have several: encoder, decoder, or what stands before the numbers',
  { default: 'the only one' },
);

export const analysis = option(
  '--analysis <dir>',
  'directory of layerloom analyze: read task vectors from it, not the weights',
);

export const config = option(
  '--config <path>',
  'directory with config.json and tokenizer, or that file, for models that have none (.distcp, ZeRO, a trainer’s state)',
);

export const lmEval = option('--lm-eval <command>', 'the command of lm-evaluation-harness', {
  default: 'lm_eval',
  group: running,
});

export const jobs = numberOption('--jobs <n>', 'models to score at once', "the experiment's", running);

export const inPlace = (what: string) => option('--in-place', what, { group: running });

export const dryRemoval = option('--dry-run', 'print what would be removed, and remove nothing', {
  group: running,
});
