import { argument, command } from '../framework/command.js';
import { option } from '../framework/option.js';
import { analysis, modelWords } from '../options/common.js';
import { formOptions, mergeOptions, saveOptions, tokenizer } from '../options/merging.js';
import { toWeights } from '../options/parse.js';

export const soup = command({
  name: 'soup',
  group: 'merging',
  summary: 'average models, uniformly or by weights',
  arguments: { models: argument('<model...>', `models: each ${modelWords}, or NAME=MODEL`) },
  options: {
    base: option(
      '--base <model>',
      'the model that all were fine-tuned from, to check them against; --weights magnitude needs it',
    ),
    weights: option('--weights <w,w,...>', 'one weight for each model, or magnitude: 1 / mean MAV of each', {
      parse: toWeights,
      default: 'all 1',
    }),
    analysis,
    ...saveOptions,
    ...formOptions,
    tokenizer: tokenizer(),
    ...mergeOptions(),
  },
  examples: [
    ['layerloom soup ./math-1 ./math-2 ./math-3 -o ./math-soup', 'the average of three models'],
    ['layerloom soup ./math-1 ./math-2 --weights 2,1 -o ./math-soup-2-1', 'the first model counts twice'],
    [
      'layerloom soup ./math-lora ./swh-lora --as full --base ./llama-3.1-8b -o ./soup-full',
      'full weights of two bare LoRA adapters',
    ],
    [
      'layerloom soup ./math-lora ./swh-lora --rank 16 -o ./soup-rank-16',
      'an adapter whose averages have rank 16',
    ],
  ],
  run: async (given) => {
    const { methodCommand } = await import('../work/merge.js');
    await methodCommand('soup', given);
  },
});
