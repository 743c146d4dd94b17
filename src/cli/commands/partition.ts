import { partitionFormats } from '../../core/measure/partition/formats/names.js';
import { granularities, partNames } from '../../core/measure/partition/partition.js';
import { paperCounts } from '../../core/methods/framework/counts.js';
import { argument, command } from '../framework/command.js';
import { optionGroups } from '../framework/help.js';
import { option } from '../framework/option.js';
import { download, modelWords, stack } from '../options/common.js';
import { choiceOption, numberOption } from '../options/usual-options.js';

export const partition = command({
  name: 'partition',
  group: 'training',
  summary: 'divide the parameters of a model between a language and a task, for trainers',
  arguments: { base: argument('<base>', modelWords) },
  options: {
    bottom: numberOption(
      '--bottom <n>',
      'number of first layers for the language',
      String(paperCounts.bottom),
    ),
    top: numberOption('--top <n>', 'number of last layers for the language', String(paperCounts.top)),
    scaled: option('--scaled', "scale the counts from the paper's 32 layers to the model's: count * L / 32"),
    from: option(
      '--from <dir>',
      'directory of layerloom analyze: each parameter goes to the expert that changed it more, whatever its layer',
    ),
    language: option('--lang <expert>', 'the language expert of the analysis: its name there, or the model', {
      required: 'with --from',
    }),
    task: option('--task <expert>', 'the task expert of the analysis: its name there, or the model', {
      required: 'with --from',
    }),
    granularity: choiceOption(
      '--granularity <unit>',
      'unit in which an analysis assigns parameters',
      granularities,
      'module',
    ),
    others: choiceOption(
      '--others <part>',
      'part to which embeddings, final norm and head belong',
      partNames,
      'language; with --from, by the analysis',
    ),
    norms: choiceOption(
      '--norms <which>',
      'norms inside layers: with their layer, or as --others says',
      ['layer', 'others'],
      'layer',
    ),
    stack,
    out: option('-o, --out <path>', 'a .json file, or a directory for it and the files of trainers', {
      default: 'print only',
      group: optionGroups.output,
    }),
    formats: option('--format <format...>', 'files to write to the directory', {
      choices: partitionFormats,
      default: 'all that can express the partition',
      group: optionGroups.output,
    }),
    force: option('--force', 'replace existing files', { group: optionGroups.output }),
    download: download('the headers of a model that is not on this machine'),
  },
  examples: [
    [
      'layerloom partition ./llama-3.1-8b --bottom 5 --top 2 -o ./parts',
      'the first 5 and last 2 layers for the language, the middle for the task',
    ],
    [
      'layerloom partition ./llama-3.1-8b --from ./analysis --lang swh-1 --task math-1 -o ./parts.json',
      'each module to the expert that changed it more',
    ],
  ],
  run: async (given) => (await import('../work/merging/partition.js')).partitionCommand(given),
});
