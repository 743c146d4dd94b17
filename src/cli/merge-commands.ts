import type { Command } from 'commander';
import { sides } from '../methods/framework/part-names.js';
import { addExamples, commandGroups, optionOf } from './help.js';
import type { MergeCommandOptions } from './merge.js';
import {
  addAnalysisOption,
  addFormOption,
  addMergeOptions,
  addSaveOption,
  addTokenizerOption,
  modelWords,
  toNumber,
  toWeights,
} from './options.js';
import { addSwap } from './swap-command.js';

// Commands that write one checkpoint: their options, as recipes.

const addSoup = (program: Command): void => {
  const command = program
    .command('soup')
    .helpGroup(commandGroups.merging)
    .description('average models, uniformly or by weights')
    .argument('<model...>', `models: each ${modelWords}, or NAME=MODEL`)
    .addOption(
      optionOf(
        '--base <model>',
        'the model that all were fine-tuned from, to check them against; --weights magnitude needs it',
      ),
    )
    .addOption(
      optionOf('--weights <w,w,...>', 'one weight for each model, or magnitude: 1 / mean MAV of each', {
        parse: toWeights,
        default: 'all 1',
      }),
    );
  addMergeOptions(addTokenizerOption(addFormOption(addSaveOption(addAnalysisOption(command))))).action(
    async (models: string[], options: MergeCommandOptions) => {
      const { methodCommand } = await import('./merge.js');
      await methodCommand('soup', { ...options, models });
    },
  );
  addExamples(command, [
    ['layerloom soup ./math-1 ./math-2 ./math-3 -o ./math-soup', 'the average of three models'],
    ['layerloom soup ./math-1 ./math-2 --weights 2,1 -o ./math-soup-2-1', 'the first model counts twice'],
    [
      'layerloom soup ./math-lora ./swh-lora --as full --base ./llama-3.1-8b -o ./soup-full',
      'full weights of two bare LoRA adapters',
    ],
    [
      'layerloom soup ./math-lora ./swh-lora --rank 16 -o ./soup-rank-16',
      'an adapter whose averages have rank 16',
    ],
  ]);
};

const addRevert = (program: Command): void => {
  const command = program
    .command('revert')
    .helpGroup(commandGroups.merging)
    .description('revert parts of an expert to its base: layers by location, or rows that changed little')
    .argument('<expert>', modelWords)
    .addOption(
      optionOf('--base <model>', 'the model that the expert was fine-tuned from', { required: true }),
    )
    .addOption(optionOf('--bottom <n>', 'number of first layers', { parse: toNumber, default: '5' }))
    .addOption(optionOf('--top <n>', 'number of last layers', { parse: toNumber, default: '2' }))
    .addOption(
      optionOf('--keep <which>', "layers that stay the expert's: those between, or the first and last ones", {
        choices: ['middle', 'top-bottom'],
        default: 'middle',
      }),
    )
    .addOption(
      optionOf('--others <which>', 'tensors outside the layers', {
        choices: ['keep', 'revert'],
        default: 'keep',
      }),
    )
    .addOption(
      optionOf('--norms <which>', 'norms inside the layers: as their layer, or as --others', {
        choices: ['layer', 'average'],
        default: 'layer',
      }),
    )
    .addOption(
      optionOf('--threshold <t>', 'revert the rows whose MAV is below it, instead of layers', {
        parse: toNumber,
      }),
    )
    .addOption(
      optionOf(
        '--target-kept <share>',
        'revert rows by the largest threshold that keeps at least this share of the parameters',
        { parse: toNumber },
      ),
    )
    .addOption(
      optionOf('--rows <which>', 'rows are input or output features', {
        choices: ['input', 'output'],
        default: 'input',
      }),
    )
    .addOption(
      optionOf(
        '--modules <filters>',
        'revert tensors of these names only: q_proj,k_proj or "*.mlp.*"; all others stay the expert\'s',
        { default: 'all tensors' },
      ),
    )
    .addOption(
      optionOf(
        '--partition <file>',
        'partition.json of layerloom partition: keep the part of --side and nothing else, instead of by layers',
      ),
    )
    .addOption(
      optionOf('--side <which>', "the side of the partition that is the expert's", {
        choices: sides,
        required: 'with --partition',
      }),
    );
  addMergeOptions(addTokenizerOption(addFormOption(addSaveOption(addAnalysisOption(command))))).action(
    async (expert: string, options: MergeCommandOptions) => {
      const { methodCommand } = await import('./merge.js');
      await methodCommand('revert', { ...options, model: expert });
    },
  );
  addExamples(command, [
    [
      'layerloom revert --base ./llama-3.1-8b ./math-1 -o ./reverted',
      'put the first 5 and last 2 layers back to the base',
    ],
    [
      'layerloom revert --base ./llama-3.1-8b ./swh-1 --keep top-bottom -o ./reverted-middle',
      'of a language expert keep the first 5 and last 2 layers',
    ],
    [
      'layerloom revert --base ./llama-3.1-8b ./math-1 --target-kept 0.75 -o ./reverted-rows',
      'put back the rows that changed least, a quarter of the parameters',
    ],
    [
      'layerloom revert --base ./llama-3.1-8b ./math-1 --partition ./parts/partition.json --side task -o ./reverted-parts',
      "keep exactly the task's part of a partition",
    ],
  ]);
};

const addRelayout = (program: Command): void => {
  const command = program
    .command('relayout')
    .helpGroup(commandGroups.merging)
    .description('rewrite a checkpoint in other shards, so that later merges can link its layers')
    .argument('<checkpoint>', modelWords);
  addMergeOptions(addSaveOption(command)).action(async (checkpoint: string, options: MergeCommandOptions) => {
    const { methodCommand } = await import('./merge.js');
    await methodCommand('relayout', { ...options, model: checkpoint });
  });
  addExamples(command, [
    ['layerloom relayout ./math-1 -o ./math-1-by-layer', 'one shard per layer'],
    [
      'layerloom relayout ./math-1 --layout size --max-shard-size 2GB -o ./math-1-2gb',
      'shards of up to 2 GB',
    ],
  ]);
};

const addMerge = (program: Command): void => {
  const command = program
    .command('merge')
    .helpGroup(commandGroups.merging)
    .description(
      "merge by a recipe, layerloom's or mergekit's: any method, slices, gradients, nested recipes",
    )
    .argument(
      '<recipe>',
      "a YAML file; its paths are relative to its folder, in mergekit's dialect to the working directory; or the README.md or layerloom.json of an output, to merge it again",
    )
    .addOption(
      optionOf('--explain <tensor>', 'print how one tensor of the output is computed, and write nothing'),
    )
    .addOption(
      optionOf('--allow-changed', 'merge by a layerloom.json although its inputs have changed since'),
    )
    .addOption(
      optionOf(
        '--strict',
        'refuse, instead of warning: a filter that matches no tensor, and keys that mergekit ignores',
      ),
    )
    .addOption(optionOf('--plugin <file>', 'a module that registers your own methods', { repeatable: true }));
  addMergeOptions(
    addTokenizerOption(addFormOption(addSaveOption(addAnalysisOption(command))), "the recipe's, or auto"),
    {
      outRequired: 'unless --dry-run or --explain',
    },
  ).action(async (recipe: string, options: MergeCommandOptions & { plugin?: string[] }) => {
    const [{ loadPlugins }, { mergeCommand }] = await Promise.all([
      import('./plugin.js'),
      import('./merge.js'),
    ]);
    await loadPlugins(options.plugin ?? []);
    await mergeCommand(recipe, options);
  });
  addExamples(command, [
    ['layerloom merge ties.yaml -o ./merged-ties', 'run a recipe'],
    ['layerloom merge ties.yaml --dry-run --json', 'print the plan as JSON'],
    ['layerloom merge ties.yaml --explain lm_head.weight', 'print the formula of one tensor'],
  ]);
};

/** Adds the commands that write one checkpoint. */
export const addMerging = (program: Command): void => {
  addSwap(program);
  addSoup(program);
  addRevert(program);
  addMerge(program);
  addRelayout(program);
};
