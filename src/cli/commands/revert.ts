import { paperCounts } from '../../core/methods/framework/counts.js';
import { sides } from '../../core/methods/framework/part-names.js';
import { argument, command } from '../framework/command.js';
import { option } from '../framework/option.js';
import { analysis, modelWords, stack } from '../options/common.js';
import { attestOption, formOptions, mergeOptions, saveOptions, tokenizer } from '../options/merging.js';
import { choiceOption, numberOption } from '../options/usual-options.js';

export const revert = command({
  name: 'revert',
  group: 'merging',
  summary: 'revert parts of an expert to its base: layers by location, or rows that changed little',
  arguments: { model: argument('<expert>', modelWords) },
  options: {
    base: option('--base <model>', 'the model that the expert was fine-tuned from', { required: true }),
    bottom: numberOption('--bottom <n>', 'number of first layers', String(paperCounts.bottom)),
    top: numberOption('--top <n>', 'number of last layers', String(paperCounts.top)),
    keep: choiceOption(
      '--keep <which>',
      'layers to keep from the expert: the middle ones, or the first and last ones',
      ['middle', 'top-bottom'],
      'middle',
    ),
    others: choiceOption('--others <which>', 'tensors outside the layers', ['keep', 'revert'], 'keep'),
    norms: choiceOption(
      '--norms <which>',
      'norms inside layers: with their layer, or (average) as --others says',
      ['layer', 'average'],
      'layer',
    ),
    threshold: numberOption('--threshold <t>', 'instead of layers, revert rows with a MAV below this'),
    targetKept: numberOption(
      '--target-kept <share>',
      'revert rows, with the largest threshold that keeps at least this share of the parameters',
    ),
    rows: choiceOption('--rows <which>', 'rows are input or output features', ['input', 'output'], 'input'),
    modules: option(
      '--modules <filters>',
      'revert only tensors with these names: q_proj,k_proj or "*.mlp.*"; others stay as in the expert',
      { default: 'all tensors' },
    ),
    partition: option(
      '--partition <file>',
      'partition.json of layerloom partition: instead of layers, keep only the part of --side',
    ),
    side: option('--side <which>', 'the side of the partition to keep from the expert', {
      choices: sides,
      required: 'with --partition',
    }),
    stack,
    analysis,
    ...saveOptions,
    ...formOptions,
    tokenizer: tokenizer(),
    ...attestOption,
    ...mergeOptions(),
  },
  examples: [
    [
      'layerloom revert --base ./llama-3.1-8b ./math-1 -o ./reverted',
      'revert the first 5 and last 2 layers to the base',
    ],
    [
      'layerloom revert --base ./llama-3.1-8b ./swh-1 --keep top-bottom -o ./reverted-middle',
      'keep only the first 5 and last 2 layers of a language expert',
    ],
    [
      'layerloom revert --base ./llama-3.1-8b ./math-1 --target-kept 0.75 -o ./reverted-rows',
      'revert the rows that changed least, a quarter of the parameters',
    ],
    [
      'layerloom revert --base ./llama-3.1-8b ./math-1 --partition ./parts/partition.json --side task -o ./reverted-parts',
      "keep only the task's part of a partition",
    ],
  ],
  run: async (given) => (await import('../work/merging/merge.js')).methodCommand('revert', given),
});
