import { argument, command } from '../framework/command.js';
import { option } from '../framework/option.js';
import { analysis, expect, inPlace } from '../options/common.js';
import { attestOption, mergeOptions, tokenizer } from '../options/merging.js';

export const batch = command({
  name: 'batch',
  group: 'experiments',
  summary: 'run an experiment: merge every pair with every configuration, writing equal shards only once',
  arguments: {
    experiment: argument(
      '<experiment>',
      'a YAML file (layerloom experiment init writes one), or the text of an experiment, beginning with {',
    ),
  },
  options: {
    store: option('--store <dir>', 'directory of the shards that merges share', {
      default: '.store in the output',
    }),
    first: option('--first <pattern...>', 'merges to finish first, by name; * stands for any text'),
    write: option('--write <pattern>', 'write only merges with this name; the others are only recorded', {
      repeatable: true,
    }),
    inPlace: inPlace('write no merges, only record them for layerloom evaluate --in-place'),
    part: option('--part <i/n>', 'make only part i (from 0) of n of the shards, and no merges'),
    expect,
    analysis,
    tokenizer: tokenizer("the experiment's, or auto", ''),
    ...attestOption,
    ...mergeOptions({ link: 'hard' }),
  },
  examples: [
    ['layerloom batch study.yaml -o ./study --dry-run', 'print the cost, reading only headers'],
    ['layerloom batch study.yaml -o ./study', 'run all merges'],
    [
      'layerloom batch study.yaml -o ./study --resume',
      'continue after an interruption or a change of the file',
    ],
  ],
  run: async (given) => (await import('../work/studies/batch.js')).batchCommand(given),
});
