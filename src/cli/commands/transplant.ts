import { newRows } from '../../core/models/tokenizer/vocabulary.js';
import { argument, command } from '../framework/command.js';
import { option } from '../framework/option.js';
import { modelWords } from '../options/common.js';
import { attestOption, mergeOptions, saveOptions } from '../options/merging.js';
import { choiceOption, numberOption } from '../options/usual-options.js';

export const transplant = command({
  name: 'transplant',
  group: 'merging',
  summary:
    'give a model the tokenizer of another: copy the rows of shared tokens, and approximate the others',
  arguments: { model: argument('<model>', modelWords) },
  options: {
    donor: option('--donor <model>', 'the model that gives the tokenizer', { required: true }),
    rows: choiceOption(
      '--rows <how>',
      "rows of tokens that the model lacks: omp, sums of rows of shared tokens, with weights found in the donor's embeddings; subword, the mean row of the old tokens that make up the text; mean, the mean of all rows; zero",
      newRows,
      'omp',
    ),
    k: numberOption('-k, --k <n>', 'with omp: maximum number of rows in a sum', '64'),
    ...saveOptions,
    ...attestOption,
    ...mergeOptions(),
  },
  examples: [
    [
      'layerloom transplant ./math-1 --donor ./swh-1 -o ./math-1-transplanted',
      'the tokenizer of another base, so that experts of both bases can be merged',
    ],
    [
      'layerloom transplant ./math-1 --donor ./swh-1 --rows subword -o ./math-1-subwords',
      'new rows are means of the rows of old tokens',
    ],
  ],
  run: async (given) => (await import('../work/merging/merge.js')).methodCommand('transplant', given),
});
