import type { Command } from 'commander';
import { partitionFormats } from '../measure/partition/formats/names.js';
import { granularities, partNames } from '../measure/partition/partition.js';
import { addExamples, commandGroups, optionGroups, optionOf } from './help.js';
import { addOutputOptions, downloadOption, modelWords, toNumber } from './options.js';
import type { PartitionCliOptions } from './partition.js';

/** Adds `layerloom partition`. */
export const addPartition = (program: Command): void => {
  const command = program
    .command('partition')
    .helpGroup(commandGroups.training)
    .description(
      'divide the parameters of a model between a language and a task, and write that for trainers',
    )
    .argument('<base>', modelWords)
    .addOption(optionOf('--bottom <n>', "first layers, the language's", { parse: toNumber, default: '5' }))
    .addOption(optionOf('--top <n>', "last layers, the language's", { parse: toNumber, default: '2' }))
    .addOption(
      optionOf('--scaled', "scale the counts from the paper's 32 layers to the model's: count * L / 32"),
    )
    .addOption(
      optionOf(
        '--from <dir>',
        'directory of layerloom analyze: each parameter goes to the expert that changed it more, instead of by layers',
      ),
    )
    .addOption(
      optionOf('--language <name>', 'the language expert in the analysis', { required: 'with --from' }),
    )
    .addOption(optionOf('--task <name>', 'the task expert in the analysis', { required: 'with --from' }))
    .addOption(
      optionOf('--granularity <unit>', 'what an analysis gives to one part together', {
        choices: granularities,
        default: 'module',
      }),
    )
    .addOption(
      optionOf('--others <part>', 'the part of embeddings, final norm and head', {
        choices: partNames,
        default: 'language; with --from as the analysis says',
      }),
    )
    .addOption(
      optionOf('--norms <which>', 'norms inside the layers: as their layer, or as --others', {
        choices: ['layer', 'others'],
        default: 'layer',
      }),
    )
    .addOption(
      optionOf('-o, --out <path>', 'a .json file, or a directory for it and the files of trainers', {
        default: 'print only',
        group: optionGroups.output,
      }),
    )
    .addOption(
      optionOf('--format <format...>', 'files to write to the directory', {
        choices: partitionFormats,
        default: 'all that can say the partition',
        group: optionGroups.output,
      }),
    )
    .addOption(optionOf('--force', 'replace files that are there', { group: optionGroups.output }))
    .addOption(downloadOption('the headers of a model that is not here'));
  addOutputOptions(command).action(async (base: string, options: PartitionCliOptions) => {
    // Loaded on demand: other commands divide nothing.
    const { partitionCommand } = await import('./partition.js');
    await partitionCommand(base, options);
  });
  addExamples(command, [
    [
      'layerloom partition ./llama-3.1-8b --bottom 5 --top 2 -o ./parts',
      'the first 5 and last 2 layers for the language, the middle for the task',
    ],
    [
      'layerloom partition ./llama-3.1-8b --from ./analysis --language swh-1 --task math-1 -o ./parts.json',
      'each module to the expert that changed it more',
    ],
  ]);
};
