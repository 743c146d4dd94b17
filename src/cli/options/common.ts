import { optionGroups } from '../framework/help.js';
import { option } from '../framework/option.js';
import { toNumber } from './parse.js';

// Options that several commands have, each declared once.

const { output, running } = optionGroups;

/** The forms of a model on the command line, in words for help. */
export const modelWords = 'a directory, a file of weights or org/name in the hub cache';

/** Of every command that has worker threads. */
export const threads = option('-j, --threads <n>', 'worker threads', {
  parse: toNumber,
  default: 'the usable cores',
  group: running,
});

/** Of every command that opens models. */
export const download = (what = 'what is needed of models that are not here: headers, then byte ranges') =>
  option('--download', `fetch ${what} from the Hugging Face hub`, { group: running });

/** Of every command that merges. */
export const allowNonFinite = option(
  '--allow-non-finite',
  'compute with values that are NaN or infinite, instead of refusing them; copies are never looked at',
  { group: output },
);

/** Of commands that jobs of clusters run. */
export const expect = option(
  '--expect <stamp>',
  'refuse to run by another version, or on another text of the experiment; batch --dry-run --json prints it',
  { group: running },
);

/** Of commands that tell layers apart. */
export const stack = option(
  '--stack <which>',
  'stack of layers that is meant in models that have several: encoder, decoder, or what stands before the numbers',
  { default: 'the only one' },
);

/** Of commands whose methods may need task vectors. */
export const analysis = option(
  '--analysis <dir>',
  'directory of layerloom analyze: read task vectors from it, not the weights',
);

/** Of commands that run the harness. */
export const lmEval = option('--lm-eval <command>', 'the command of lm-evaluation-harness', {
  default: 'lm_eval',
  group: running,
});

/** Of commands that score models. */
export const jobs = option('--jobs <n>', 'models to score at once', {
  parse: toNumber,
  default: "the experiment's",
  group: running,
});

/** Of commands that score merges or make them. */
export const inPlace = (what: string) => option('--in-place', what, { group: running });

/** Of commands that remove files. */
export const dryRemoval = option('--dry-run', 'print what would be removed, and remove nothing', {
  group: running,
});
