import type { Command } from 'commander';
import { exportDialects } from '../export/export-dialects.js';
import type { ExportCommandOptions } from './export-recipe.js';
import { addExamples, commandGroups, optionOf, printsByDefault } from './help.js';
import { addAnalysisOption, addOutputOptions } from './options.js';

/** Adds `layerloom recipe`. */
export const addRecipe = (program: Command): void => {
  const recipe = program
    .command('recipe')
    .helpCommand(false)
    .helpGroup(commandGroups.merging)
    .description('write recipes for other programs');
  const command = recipe
    .command('export')
    .description("write a recipe in mergekit's dialect, where that can say it")
    .argument('<recipe>', 'a YAML file of either dialect, or the README.md or layerloom.json of an output')
    .addOption(optionOf('--dialect <name>', 'the dialect', { choices: exportDialects, default: 'mergekit' }))
    .addOption(optionOf('-o, --out <file>', 'file to write', { default: printsByDefault }))
    .addOption(optionOf('--force', 'replace the file'));
  addOutputOptions(addAnalysisOption(command)).action(async (file: string, options: ExportCommandOptions) => {
    const { exportCommand } = await import('./export-recipe.js');
    await exportCommand(file, options);
  });
  addExamples(recipe, [
    ['layerloom recipe export soup.yaml', "print a recipe in mergekit's dialect"],
    ['layerloom recipe export soup.yaml -o soup.mergekit.yaml', 'write it to a file'],
  ]);
  addExamples(command, [
    ['layerloom recipe export swap.yaml -o swap.mergekit.yaml', 'a recipe of a swap for mergekit-yaml'],
    ['layerloom recipe export ./merged/layerloom.json', 'the recipe of a merge that is done'],
  ]);
};
