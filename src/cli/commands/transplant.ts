import { newRows } from '../../core/models/tokenizer/vocabulary.js';
import { argument, command } from '../framework/command.js';
import { option } from '../framework/option.js';
import { modelWords } from '../options/common.js';
import { attestOption, mergeOptions, saveOptions } from '../options/merging.js';
import { choiceOption, numberOption } from '../options/usual-options.js';

export const transplant = command({
  name: 'transplant',
  group: 'merging',
  summary: "give a model another's tokenizer: rows of shared tokens are copied, those of others approximated",
  arguments: { model: argument('<model>', modelWords) },
  options: {
    donor: option('--donor <model>', 'the model whose tokenizer it gets', { required: true }),
    rows: choiceOption(
      '--rows <how>',
      "rows of tokens that the model lacks: omp, sums of rows of shared tokens, as found in the donor's embeddings; subword, means of the rows of the tokens that the text is split into; mean, that of all rows; zero",
      newRows,
      'omp',
    ),
    k: numberOption('-k, --k <n>', 'with omp: rows of a sum, at most', '64'),
    ...saveOptions,
    ...attestOption,
    ...mergeOptions(),
  },
  examples: [
    [
      'layerloom transplant ./math-1 --donor ./swh-1 -o ./math-1-transplanted',
      'the tokenizer of another base, so that experts of both can be merged',
    ],
    [
      'layerloom transplant ./math-1 --donor ./swh-1 --rows subword -o ./math-1-subwords',
      'new rows are means of the old tokens that they are made of',
    ],
  ],
  run: async (given) => (await import('../work/merging/merge.js')).methodCommand('transplant', given),
});
