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
  summary: "write a recipe in mergekit's dialect, where that can say it",
  arguments: {
    recipe: argument(
      '<recipe>',
      'a YAML file of either dialect, or the README.md or layerloom.json of an output',
    ),
  },
  options: {
    dialect: choiceOption('--dialect <name>', 'the dialect', exportDialects, 'mergekit'),
    out: option('-o, --out <file>', 'file to write', { default: printsByDefault }),
    force: option('--force', 'replace the file'),
    analysis,
  },
  examples: [
    ['layerloom recipe export swap.yaml -o swap.mergekit.yaml', 'a recipe of a swap for mergekit-yaml'],
    ['layerloom recipe export ./merged/layerloom.json', 'the recipe of a merge that is done'],
  ],
  run: async (given) => (await import('../work/merging/export-recipe.js')).exportCommand(given),
});

const recipeChoose = command({
  name: 'choose',
  summary: 'write a recipe of a swap whose layers or modules are chosen by what was measured of the experts',
  options: {
    task: option(
      '--task <file>',
      'a file, not a model: what was measured of the task expert, as NAME.json of layerloom analyze, or what layerloom diff BASE EXPERT --json prints',
      { required: true },
    ),
    language: option('--lang <file>', 'the same of the language expert', { required: true }),
    by: option('--by <unit>', 'whole layers, or attention and feed-forward of each', {
      choices: units,
      parse: toOneOf('by', units),
      default: 'layer',
    }),
    tau: numberOption(
      '--tau <t>',
      "difference of shares of change from which a layer is one expert's",
      '0.001',
    ),
    alpha: numberOption(
      '--alpha <a>',
      "the task expert's weight in what is blended: the rest, and outside",
      '0.5',
    ),
    top: numberOption(
      '--top <k>',
      'instead of a threshold: the k layers of the largest statistic from the language expert',
    ),
    statistic: option(
      '--statistic <which>',
      "the statistic of --top: the language expert's share of its change, or its difference from the task expert's",
      { choices: statistics, parse: toOneOf('statistic', statistics), default: 'difference' },
    ),
    out: option('-o, --out <file>', 'file to write', { default: printsByDefault }),
    force: option('--force', 'replace the file'),
  },
  examples: [
    [
      'layerloom recipe choose --task ./analysis/math-1.json --lang ./analysis/swh-1.json --top 7 -o chosen.yaml',
      'the 7 layers that the language expert changed most beside the other',
    ],
    [
      'layerloom recipe choose --task ./analysis/math-1.json --lang ./analysis/swh-1.json --by module --tau 0.002',
      'each module from the expert that changed it more, else of both',
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
