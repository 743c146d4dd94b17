import { statistics, units } from '../../core/measure/choice/rules.js';
import { exportDialects } from '../../core/plan/export/export-dialects.js';
import { argument, command, commandOfCommands } from '../framework/command.js';
import { printsByDefault } from '../framework/help.js';
import { option } from '../framework/option.js';
import { analysis } from '../options/common.js';
import { toOneOf } from '../options/parse.js';
import { choiceOption, numberOption } from '../options/usual-options.js';

const recipeExport = command({
  name: 'export',
  summary: "write a recipe in mergekit's dialect, if that can express it",
  arguments: {
    recipe: argument(
      '<recipe>',
      'a YAML file in either dialect, or the README.md or layerloom.json of an output',
    ),
  },
  options: {
    dialect: choiceOption('--dialect <name>', 'the dialect', exportDialects, 'mergekit'),
    out: option('-o, --out <file>', 'file to write', { default: printsByDefault }),
    force: option('--force', 'replace the file'),
    analysis,
  },
  examples: [
    ['layerloom recipe export swap.yaml -o swap.mergekit.yaml', 'a layer swap for mergekit-yaml'],
    ['layerloom recipe export ./merged/layerloom.json', 'the recipe of a finished merge'],
  ],
  run: async (given) => (await import('../work/merging/export-recipe.js')).exportCommand(given),
});

const recipeChoose = command({
  name: 'choose',
  summary: 'choose the layers or modules of a swap from measurements of the experts, and write the recipe',
  options: {
    task: option(
      '--task <file>',
      'a file with measurements of the task expert (not a model): NAME.json of layerloom analyze, or the output of layerloom diff BASE EXPERT --json',
      { required: true },
    ),
    language: option('--lang <file>', 'such a file for the language expert', { required: true }),
    by: option('--by <unit>', 'choose whole layers, or attention and feed-forward modules', {
      choices: units,
      parse: toOneOf('by', units),
      default: 'layer',
    }),
    tau: numberOption(
      '--tau <t>',
      'an expert gives a layer if its share of change is larger by more than this',
      '0.001',
    ),
    alpha: numberOption(
      '--alpha <a>',
      "the task expert's weight in blends: the other layers, and tensors outside the layers",
      '0.5',
    ),
    top: numberOption(
      '--top <k>',
      'instead of --tau, take from the language expert the k layers with the largest statistic',
    ),
    statistic: option(
      '--statistic <which>',
      "the statistic for --top: the share of the language expert's change, or its difference from the task expert's share",
      { choices: statistics, parse: toOneOf('statistic', statistics), default: 'difference' },
    ),
    out: option('-o, --out <file>', 'file to write', { default: printsByDefault }),
    force: option('--force', 'replace the file'),
  },
  examples: [
    [
      'layerloom recipe choose --task ./analysis/math-1.json --lang ./analysis/swh-1.json --top 7 -o chosen.yaml',
      'the 7 layers that the language expert changed most, compared with the task expert',
    ],
    [
      'layerloom recipe choose --task ./analysis/math-1.json --lang ./analysis/swh-1.json --by module --tau 0.002',
      'each module from the expert that changed it more; blended if both changed it about equally',
    ],
  ],
  run: async (given) => (await import('../work/merging/choose-parts.js')).chooseCommand(given),
});

export const recipe = commandOfCommands({
  name: 'recipe',
  group: 'merging',
  summary: 'write recipes: chosen by measurements, or for other programs',
  commands: [recipeChoose, recipeExport],
  examples: [
    [
      'layerloom recipe choose --task ./analysis/math-1.json --lang ./analysis/swh-1.json --top 7',
      'print a swap of the layers that differ most',
    ],
    ['layerloom recipe export soup.yaml', "print a recipe in mergekit's dialect"],
    ['layerloom recipe export soup.yaml -o soup.mergekit.yaml', 'write it to a file'],
  ],
});
