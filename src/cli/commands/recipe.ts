import { exportDialects } from '../../export/export-dialects.js';
import { argument, command, commandOfCommands } from '../framework/command.js';
import { printsByDefault } from '../framework/help.js';
import { option } from '../framework/option.js';
import { analysis } from '../options/common.js';

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
    dialect: option('--dialect <name>', 'the dialect', { choices: exportDialects, default: 'mergekit' }),
    out: option('-o, --out <file>', 'file to write', { default: printsByDefault }),
    force: option('--force', 'replace the file'),
    analysis,
  },
  examples: [
    ['layerloom recipe export swap.yaml -o swap.mergekit.yaml', 'a recipe of a swap for mergekit-yaml'],
    ['layerloom recipe export ./merged/layerloom.json', 'the recipe of a merge that is done'],
  ],
  run: async (given) => {
    const { exportCommand } = await import('../work/export-recipe.js');
    await exportCommand(given);
  },
});

export const recipe = commandOfCommands({
  name: 'recipe',
  group: 'merging',
  summary: 'write recipes for other programs',
  commands: [recipeExport],
  examples: [
    ['layerloom recipe export soup.yaml', "print a recipe in mergekit's dialect"],
    ['layerloom recipe export soup.yaml -o soup.mergekit.yaml', 'write it to a file'],
  ],
});
