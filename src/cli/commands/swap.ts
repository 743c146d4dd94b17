import { paperCounts } from '../../core/methods/framework/counts.js';
import { command } from '../framework/command.js';
import { option } from '../framework/option.js';
import { analysis, modelWords, stack } from '../options/common.js';
import { attestOption, formOptions, mergeOptions, saveOptions, tokenizer } from '../options/merging.js';
import { toWeights } from '../options/parse.js';
import { choiceOption, numberOption } from '../options/usual-options.js';

export const swap = command({
  name: 'swap',
  group: 'merging',
  summary:
    'swap layers of two experts: bottom and top from the language expert, the middle from the task expert',
  options: {
    task: option('--task <model>', `the task expert: ${modelWords}`, { required: true }),
    language: option('--lang <model>', 'the language expert', { required: true }),
    base: option(
      '--base <model>',
      'the model that both were fine-tuned from, for a check; required for --weights magnitude',
    ),
    bottom: numberOption(
      '--bottom <n>',
      'number of layers from the language expert next to the embeddings',
      String(paperCounts.bottom),
    ),
    top: numberOption(
      '--top <n>',
      'number of layers from the language expert next to the head',
      String(paperCounts.top),
    ),
    bottomTransition: numberOption(
      '--bottom-transition <n>',
      'number of averaged layers above the bottom ones',
      '0',
    ),
    topTransition: numberOption('--top-transition <n>', 'number of averaged layers below the top ones', '0'),
    weights: option(
      '--weights <wt,wl>',
      'weights of the task and the language expert in averages, or magnitude: 1 / mean MAV of each',
      { parse: toWeights, default: '1,1' },
    ),
    others: choiceOption(
      '--others <which>',
      'tensors outside the layers: averaged, or from one expert',
      ['average', 'task', 'language'],
      'average',
    ),
    norms: choiceOption(
      '--norms <which>',
      'norms inside layers: with their layer, or (average) as --others says',
      ['layer', 'average'],
      'layer',
    ),
    scaled: option(
      '--scaled',
      "scale the numbers of layers from the paper's 32 layers to the models', and print them",
    ),
    langLayers: option(
      '--lang-layers <set>',
      'indices of layers from the language expert, instead of --bottom and --top: 0-4,30,31',
    ),
    baseLayers: option('--base-layers <set>', 'indices of layers from the base', { default: 'none' }),
    partition: option(
      '--partition <file>',
      'partition.json of layerloom partition: each tensor comes from the expert of its part, instead of by layers',
    ),
    stack,
    analysis,
    ...saveOptions,
    ...formOptions,
    tokenizer: tokenizer(),
    ...attestOption,
    ...mergeOptions(),
  },
  examples: [
    ['layerloom swap --task ./math-1 --lang ./swh-1 -o ./merged', "the paper's 5 bottom and 2 top layers"],
    [
      'layerloom swap --task ./math-1 --lang ./swh-1 --bottom 4 --top 1 --bottom-transition 1 -o ./merged-4-1',
      'other layers, and one averaged layer above the bottom ones',
    ],
    [
      'layerloom swap --task ./math-1 --lang ./swh-1 --lang-layers 0-4,6 -o ./merged-set',
      'any layers from the language expert, by index',
    ],
    [
      'layerloom swap --task ./math-1 --lang ./swh-1 --dry-run',
      'print the origin of each layer and the bytes to read and write',
    ],
    [
      'layerloom swap --task ./math-1 --lang ./swh-1 --base ./llama-3.1-8b --weights magnitude -o ./weighted',
      "averages weighted by the size of the experts' changes",
    ],
    [
      'layerloom swap --task ./math-1 --lang ./swh-1 --partition ./parts/partition.json -o ./parts-swap',
      'combine experts that were each trained in one part of a partition',
    ],
    [
      'layerloom swap --task ./math-lora --lang ./swh-lora -o ./swapped-lora',
      'two bare LoRA adapters give an adapter',
    ],
  ],
  run: async (given) => (await import('../work/merging/merge.js')).methodCommand('layer_swap', given),
});
