import { optionGroups } from '../framework/help.js';
import { option } from '../framework/option.js';
import { numberOption } from './usual-options.js';

const { output, running } = optionGroups;

/** Forms of a model on the command line, for help. */
export const modelWords = 'a directory, a file of weights, or org/name in the hub cache';

export const threads = numberOption(
  '-j, --threads <n>',
  'worker threads',
  'number of usable cores; 1 for a small merge',
  running,
);

export const download = (
  what = 'models that are not on this machine: headers, and then only the needed byte ranges',
) => option('--download', `fetch ${what} from the Hugging Face hub`, { group: running });

export const allowNonFinite = option(
  '--allow-non-finite',
  'compute with NaN and infinite values, instead of refusing them; copied tensors are never checked',
  { group: output },
);

/** Stamp of jobs on clusters. */
export const expect = option(
  '--expect <stamp>',
  'refuse to run if the version of layerloom or the experiment has changed; batch --dry-run --json prints the stamp',
  { group: running },
);

export const stack = option(
  '--stack <which>',
  'stack of layers, for models with several: encoder, decoder, or the name prefix before layer numbers',
  { default: 'the only one' },
);

export const analysis = option(
  '--analysis <dir>',
  'directory of layerloom analyze: use its measurements instead of reading the weights',
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
