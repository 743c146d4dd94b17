import { command } from '../framework/command.js';
import { optionGroups } from '../framework/help.js';
import { option } from '../framework/option.js';
import { config, download, modelWords, stack, threads } from '../options/common.js';
import { numberOption } from '../options/usual-options.js';

export const suggest = command({
  name: 'suggest',
  group: 'looking',
  summary: 'suggest the layers of a swap from where two experts changed, and the swaps to score',
  options: {
    base: option('--base <model>', 'the model that both experts were fine-tuned from', { required: true }),
    task: option('--task <model>', `the task expert: ${modelWords}, or NAME=MODEL`, { required: true }),
    language: option('--lang <model>', 'the language expert', { required: true }),
    budget: numberOption('--budget <n>', 'number of merges that you can score', '9'),
    stack,
    config,
    allowNonFinite: option(
      '--allow-non-finite',
      'leave out rows with a NaN or an infinity, instead of refusing them',
    ),
    out: option('-o, --out <file>', 'write the swaps to score as an experiment, for layerloom batch', {
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
      'the five merges most worth scoring, as an experiment',
    ],
  ],
  run: async (given) => (await import('../work/models/suggest.js')).suggestCommand(given),
});
