import { command } from '../framework/command.js';
import { optionGroups } from '../framework/help.js';
import { option } from '../framework/option.js';
import { config, download, modelWords, stack, threads } from '../options/common.js';
import { numberOption } from '../options/usual-options.js';

export const suggest = command({
  name: 'suggest',
  group: 'looking',
  summary: 'suggest which layers to swap, and which swaps to score, from where two experts changed',
  options: {
    base: option('--base <model>', 'the model that both experts were fine-tuned from', { required: true }),
    task: option('--task <model>', `the task expert: ${modelWords}, or NAME=MODEL`, { required: true }),
    language: option('--lang <model>', 'the language expert', { required: true }),
    budget: numberOption('--budget <n>', 'number of merges that you can score', '9'),
    stack,
    config,
    allowNonFinite: option('--allow-non-finite', 'skip rows with NaN or infinity, instead of refusing them'),
    out: option('-o, --out <file>', 'write the suggested swaps as an experiment for layerloom batch', {
      group: optionGroups.output,
    }),
    download: download(),
    threads,
  },
  examples: [
    [
      'layerloom suggest --base ./llama-3.1-8b --task ./math-1 --lang ./swh-1',
      'which layers to take from the language expert, and why',
    ],
    [
      'layerloom suggest --base ./llama-3.1-8b --task ./math-1 --lang ./swh-1 --budget 5 -o suggested.yaml',
      'an experiment with the five most promising merges',
    ],
  ],
  run: async (given) => (await import('../work/models/suggest.js')).suggestCommand(given),
});
