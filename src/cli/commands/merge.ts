import { argument, command } from '../framework/command.js';
import { option } from '../framework/option.js';
import { analysis } from '../options/common.js';
import { attestOption, formOptions, mergeOptions, saveOptions, tokenizer } from '../options/merging.js';

export const merge = command({
  name: 'merge',
  group: 'merging',
  summary: "merge by a recipe, layerloom's or mergekit's: any method, slices, gradients, nested recipes",
  arguments: {
    recipe: argument(
      '<recipe>',
      "a YAML file, with paths relative to its folder, or in mergekit's dialect to the working directory; or the README.md or layerloom.json of an output, to merge it again; or the text of a recipe, beginning with {, with paths relative to the working directory",
    ),
  },
  options: {
    explain: option(
      '--explain <tensor>',
      'print how one tensor of the output is computed, and write nothing',
    ),
    allowChanged: option('--allow-changed', 'run a layerloom.json even if its inputs have changed since'),
    strict: option(
      '--strict',
      'refuse filters that match no tensor, and keys that mergekit ignores, instead of warning',
    ),
    plugin: option('--plugin <file>', 'a module that registers your own methods', { repeatable: true }),
    analysis,
    ...saveOptions,
    ...formOptions,
    tokenizer: tokenizer("the recipe's, or auto"),
    ...attestOption,
    ...mergeOptions({ outRequired: 'unless --dry-run or --explain' }),
  },
  examples: [
    ['layerloom merge ties.yaml -o ./merged-ties', 'run a recipe'],
    [
      'layerloom merge chat-vector.yaml -o ./chat',
      'add a chat vector to a language model of another language, with task_arithmetic',
    ],
    ['layerloom merge ties.yaml --dry-run --json', 'print the plan as JSON'],
    ['layerloom merge ties.yaml --explain lm_head.weight', 'print the formula of one tensor'],
  ],
  run: async (given) => {
    const [{ loadPlugins }, { mergeCommand }] = await Promise.all([
      import('../work/merging/plugin.js'),
      import('../work/merging/merge.js'),
    ]);
    await loadPlugins(given.plugin ?? []);
    await mergeCommand(given.recipe, given);
  },
});
