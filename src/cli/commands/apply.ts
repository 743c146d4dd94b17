import { argument, command } from '../framework/command.js';
import { modelWords } from '../options/common.js';
import { attestOption, mergeOptions, saveOptions } from '../options/merging.js';

export const apply = command({
  name: 'apply',
  group: 'merging',
  summary: 'merge an adapter (LoRA, DoRA, …) into its base, shard by shard',
  arguments: {
    base: argument('<base>', `the model that the adapter was trained on: ${modelWords}`),
    adapter: argument(
      '<adapter>',
      'a directory of PEFT with adapter_config.json, or org/name in the hub cache',
    ),
  },
  options: { ...saveOptions, ...attestOption, ...mergeOptions() },
  examples: [
    ['layerloom apply ./llama-3.1-8b ./math-lora -o ./math-1', 'full weights, in as many shards as layers'],
    [
      'layerloom apply ./llama-3.1-8b ./math-lora --dtype bfloat16 -o ./math-1-bf16',
      'also dequantises the base if it is quantised',
    ],
  ],
  run: async ({ base, adapter, ...given }) => {
    const { checkOrder, methodCommand } = await import('../work/merging/merge.js');
    await checkOrder(base, adapter);
    const options = { ...given, model: `${base}+${adapter}` };
    await methodCommand('relayout', options);
  },
});
