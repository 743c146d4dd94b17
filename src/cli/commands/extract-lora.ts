import { factorDtypes } from '../../core/native/solve.js';
import { torchName } from '../../core/tensor/dtype.js';
import { argument, command } from '../framework/command.js';
import { optionGroups } from '../framework/help.js';
import { option } from '../framework/option.js';
import { download, modelWords, threads } from '../options/common.js';
import { toNumber } from '../options/parse.js';
import { numberOption } from '../options/usual-options.js';

export const extractLora = command({
  name: 'extract-lora',
  group: 'merging',
  summary: "extract a LoRA adapter for PEFT: an expert's change from its base, as low-rank products",
  arguments: { expert: argument('<expert>', modelWords) },
  options: {
    base: option('--base <model>', 'the model that the expert was fine-tuned from', { required: true }),
    rank: option('--rank <r>', 'maximum rank of the factors', {
      parse: toNumber,
      required: 'unless --energy, with which it is 128 by default',
    }),
    energy: numberOption(
      '--energy <share>',
      'choose for each matrix the smallest rank that keeps this share of its squared change: 0.9',
    ),
    modules: option(
      '--modules <pattern...>',
      'weights to extract: regular expressions, searched in module names',
      { default: 'the linear weights of attention and MLP' },
    ),
    exclude: option('--exclude <pattern...>', 'weights not to extract: regular expressions'),
    embedLora: option('--embed-lora', 'also extract the embeddings and the head'),
    saveModules: option(
      '--save-modules <name...>',
      'modules to save whole: names or their last parts, such as lm_head, input_layernorm',
    ),
    seed: numberOption('--seed <n>', 'seed of the random numbers', '0'),
    out: option('-o, --out <dir>', 'directory to create', { required: true, group: optionGroups.output }),
    dtype: option('--dtype <dtype>', 'dtype of the factors', {
      choices: factorDtypes.map(torchName),
      default: "the expert's",
      group: optionGroups.output,
    }),
    force: option('--force', 'replace an output that layerloom wrote', { group: optionGroups.output }),
    download: download(),
    threads,
  },
  examples: [
    [
      'layerloom extract-lora --base ./llama-3.1-8b ./math-1 -o ./math-1-lora --rank 32',
      'an adapter of rank 32',
    ],
    [
      'layerloom extract-lora --base ./llama-3.1-8b ./math-1 -o ./math-1-lora-90 --energy 0.9',
      'for each matrix, the rank that keeps 90 % of its squared change',
    ],
  ],
  run: async (given) => (await import('../work/merging/extract-lora.js')).extractLoraCommand(given),
});
