import type { Command } from 'commander';
import { factorDtypes } from '../native/factorise.js';
import { torchName } from '../tensor/dtype.js';
import type { ExtractLoraCliOptions } from './extract-lora.js';
import { addExamples, commandGroups, optionGroups, optionOf } from './help.js';
import { addOutputOptions, downloadOption, modelWords, threadsOption, toNumber } from './options.js';

/** Adds `extract-lora`. */
export const addExtractLora = (program: Command): void => {
  const { output } = optionGroups;
  const command = program
    .command('extract-lora')
    .helpGroup(commandGroups.merging)
    .description("extract a LoRA adapter for PEFT: an expert's change from its base, as products of low rank")
    .argument('<expert>', modelWords)
    .addOption(
      optionOf('--base <model>', 'the model that the expert was fine-tuned from', { required: true }),
    )
    .addOption(
      optionOf('--rank <r>', 'rank of the factors, at most', {
        parse: toNumber,
        required: 'unless --energy, with which it is 128 by default',
      }),
    )
    .addOption(
      optionOf(
        '--energy <share>',
        "the smallest rank of each matrix that keeps this share of its change's squares: 0.9",
        { parse: toNumber },
      ),
    )
    .addOption(
      optionOf(
        '--modules <pattern...>',
        'weights to extract: regular expressions, searched in the names of modules',
        { default: 'the linear weights of attention and MLP' },
      ),
    )
    .addOption(optionOf('--exclude <pattern...>', 'weights not to extract, likewise'))
    .addOption(optionOf('--embed-lora', 'extract the embeddings and the head too'))
    .addOption(
      optionOf(
        '--save-modules <name...>',
        'modules to save whole, by names or the last parts of these: lm_head, input_layernorm',
      ),
    )
    .addOption(optionOf('--seed <n>', 'seed of the random numbers', { parse: toNumber, default: '0' }))
    .addOption(optionOf('-o, --out <dir>', 'directory to create', { required: true, group: output }))
    .addOption(
      optionOf('--dtype <dtype>', 'dtype of the factors', {
        choices: factorDtypes.map(torchName),
        default: "the expert's",
        group: output,
      }),
    )
    .addOption(optionOf('--force', 'replace an output that layerloom wrote', { group: output }))
    .addOption(downloadOption())
    .addOption(threadsOption());
  addOutputOptions(command).action(async (expert: string, options: ExtractLoraCliOptions) => {
    const { extractLoraCommand } = await import('./extract-lora.js');
    await extractLoraCommand(expert, options);
  });
  addExamples(command, [
    [
      'layerloom extract-lora --base ./llama-3.1-8b ./math-1 -o ./math-1-lora --rank 32',
      'an adapter of rank 32',
    ],
    [
      'layerloom extract-lora --base ./llama-3.1-8b ./math-1 -o ./math-1-lora-90 --energy 0.9',
      'in each matrix the rank that keeps 90 % of its change',
    ],
  ]);
};
