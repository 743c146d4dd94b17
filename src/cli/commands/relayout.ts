import { argument, command } from '../framework/command.js';
import { modelWords } from '../options/common.js';
import { attestOption, mergeOptions, saveOptions } from '../options/merging.js';

export const relayout = command({
  name: 'relayout',
  group: 'merging',
  summary: 'rewrite a checkpoint in other shards, so that later merges can link its layers',
  arguments: { model: argument('<checkpoint>', modelWords) },
  options: { ...saveOptions, ...attestOption, ...mergeOptions() },
  examples: [
    ['layerloom relayout ./math-1 -o ./math-1-by-layer', 'one shard per layer'],
    [
      'layerloom relayout ./math-1 --layout size --max-shard-size 2GB -o ./math-1-2gb',
      'shards of up to 2 GB',
    ],
  ],
  run: async (given) => (await import('../work/merging/merge.js')).methodCommand('relayout', given),
});
