import type { Command } from 'commander';
import { methods } from '../methods/index.js';
import type { RecipeInput, RecipesByMethod } from '../methods/recipes.js';
import { mergeCommand } from './merge.js';
import {
  addAnalysisOption,
  addMergeOptions,
  type CommonOptions,
  type OutputOptions,
  toNumber,
  toWeights,
} from './options.js';
import { loadPlugins } from './plugin.js';

// Commands that write one checkpoint: their options, as recipes.

type Options = CommonOptions & OutputOptions;

/**
 * Makes a recipe of a command's options that have the name of a parameter of the method, and of `--dtype`.
 */
const recipeOf = (method: keyof RecipesByMethod, options: object): RecipeInput => {
  const parameters = [...Object.keys(methods.get(method)?.schema.shape ?? {}), 'dtype'];
  const given = Object.entries(options).filter(([name]) => parameters.includes(name));
  return { method, ...Object.fromEntries(given) } as unknown as RecipeInput;
};

const addSwap = (program: Command): void => {
  const command = program
    .command('swap')
    .description(
      'swap layers of two experts: bottom and top from the language expert, the middle from the task expert',
    )
    .requiredOption(
      '--task <model>',
      'the task expert: a directory, a .safetensors file or org/name in the hub cache',
    )
    .requiredOption('--lang <model>', 'the language expert')
    .option(
      '--base <model>',
      'the model both were fine-tuned from; checked against them and named in the model card',
    )
    .option('--bottom <n>', 'layers from the language expert, next to the embeddings (default: 5)', toNumber)
    .option('--top <n>', 'layers from the language expert, next to the head (default: 2)', toNumber)
    .option('--bottom-transition <n>', 'averaged layers above the bottom ones (default: 0)', toNumber)
    .option('--top-transition <n>', 'averaged layers below the top ones (default: 0)', toNumber)
    .option(
      '--weights <wt,wl>',
      'weights of the task and language experts in averages, or magnitude: 1 / mean MAV (default: 1,1)',
      toWeights,
    )
    .option('--others <which>', 'tensors outside the layers: average, task or language (default: average)')
    .option(
      '--norms <which>',
      'norms inside the layers: layer, as the rest of their layer, or average, as --others (default: layer)',
    )
    .option(
      '--scaled',
      "scale the numbers of layers from the paper's 32 to the models' number, and print them",
    );
  addMergeOptions(addAnalysisOption(command)).action(
    async ({ lang: language, ...options }: Options & { lang: string }) => {
      await mergeCommand(recipeOf('layer_swap', { ...options, language }), options);
    },
  );
};

const addSoup = (program: Command): void => {
  const command = program
    .command('soup')
    .description('average models, uniformly or by weights')
    .argument('<model...>', 'a model, or NAME=MODEL')
    .option(
      '--base <model>',
      'the model all were fine-tuned from; checked against them and named in the model card',
    )
    .option(
      '--weights <w,w,...>',
      'one weight for each model, or magnitude: 1 / mean MAV (default: all 1)',
      toWeights,
    );
  addMergeOptions(addAnalysisOption(command)).action(async (models: string[], options: Options) => {
    await mergeCommand(recipeOf('soup', { ...options, models }), options);
  });
};

const addRevert = (program: Command): void => {
  const command = program
    .command('revert')
    .description('revert parts of an expert to its base: layers by location, or rows that changed little')
    .argument('<expert>', 'a directory, a .safetensors file or org/name in the hub cache')
    .requiredOption('--base <model>', 'the model that the expert was fine-tuned from')
    .option('--bottom <n>', 'first layers to revert (default: 5)', toNumber)
    .option('--top <n>', 'last layers to revert (default: 2)', toNumber)
    .option('--others <which>', 'tensors outside the layers: keep or revert (default: keep)')
    .option(
      '--norms <which>',
      'norms inside the layers: layer, as the rest of their layer, or average, as --others (default: layer)',
    )
    .option('--threshold <t>', 'revert the rows whose MAV is below it, instead of layers', toNumber)
    .option(
      '--target-kept <share>',
      'the largest threshold that keeps at least this share of the parameters',
      toNumber,
    )
    .option('--rows <which>', 'rows are input or output features (default: input)');
  addMergeOptions(addAnalysisOption(command)).action(async (model: string, options: Options) => {
    await mergeCommand(recipeOf('revert', { ...options, model }), options);
  });
};

const addRelayout = (program: Command): void => {
  const command = program
    .command('relayout')
    .description('rewrite a checkpoint in other shards, so that later merges can link its layers')
    .argument('<checkpoint>', 'a directory, a .safetensors file or org/name in the hub cache');
  addMergeOptions(command).action(async (model: string, options: Options) => {
    await mergeCommand(recipeOf('relayout', { ...options, model }), options);
  });
};

const addMerge = (program: Command): void => {
  const command = program
    .command('merge')
    .description(
      "merge by a recipe, layerloom's or mergekit's: any method, slices, gradients, nested recipes",
    )
    .argument(
      '<recipe>',
      "a YAML file; its paths are relative to its folder, in mergekit's dialect to the working directory",
    )
    .option('--explain <tensor>', 'print how one tensor of the output is computed, and write nothing')
    .option('--strict', 'refuse a filter that matches no tensor, instead of warning')
    .option(
      '--plugin <file>',
      'a module that registers your own methods; may be given more than once',
      (file: string, files: readonly string[] = []) => [...files, file],
    );
  addMergeOptions(addAnalysisOption(command)).action(
    async (recipe: string, options: Options & { explain?: string; strict?: boolean; plugin?: string[] }) => {
      await loadPlugins(options.plugin ?? []);
      await mergeCommand(recipe, options);
    },
  );
};

/** Adds the commands that write one checkpoint. */
export const addMerging = (program: Command): void => {
  addSwap(program);
  addSoup(program);
  addRevert(program);
  addMerge(program);
  addRelayout(program);
};
