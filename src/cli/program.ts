import { Command, Option } from 'commander';
import { version } from '../base/version.js';
import { addExtractLora } from './adapter-commands.js';
import { resolveDash } from './dash-output.js';
import { addDiff } from './diff-command.js';
import { addBatch, addExperiment } from './experiment-commands.js';
import { addExamples, commandGroups, helpLayout, optionGroups } from './help.js';
import { addCache, addPush } from './hub-commands.js';
import { addInstallation } from './installation-commands.js';
import { addMerging } from './merge-commands.js';
import { addAnalyze, addInspect } from './model-commands.js';
import { addPartition } from './partition-command.js';
import { addRecipe } from './recipe-commands.js';
import { addEvaluate, addReport, addTable } from './score-commands.js';
import { addSearch, addSelect } from './search-commands.js';
import { addStore } from './store-commands.js';
import { addTrain } from './train-commands.js';

/**
 * Builds the command line. Errors are thrown for `main` to print; commander neither prints them nor exits.
 */
export const buildProgram = (): Command => {
  const program = new Command('layerloom')
    .description('Merges fine-tuned LLM checkpoints by layer swapping: exact, fast, small in memory')
    .optionsGroup(optionGroups.messages)
    .version(version, '-V, --version', 'print the version; with --json also the platform')
    .addHelpOption(new Option('-h, --help', 'print this help').helpGroup(optionGroups.messages))
    .configureHelp(helpLayout)
    .exitOverride()
    .configureOutput({ writeErr: () => undefined })
    .showSuggestionAfterError(true)
    .hook('preAction', (_, command) => resolveDash(command));
  program.addHelpCommand(
    new Command('help')
      .argument('[command]')
      .description('print the help of a command')
      .helpGroup(commandGroups.installation),
  );
  addMerging(program);
  addExtractLora(program);
  addRecipe(program);
  addAnalyze(program);
  addInspect(program);
  addPartition(program);
  addTrain(program);
  addExperiment(program);
  addBatch(program);
  addEvaluate(program);
  addTable(program);
  addReport(program);
  addSearch(program);
  addSelect(program);
  addDiff(program);
  addStore(program);
  addCache(program);
  addPush(program);
  addInstallation(program);
  addExamples(program, [
    [
      'layerloom swap --task ./math-1 --lang ./swh-1 -o ./merged',
      'the language of one expert, the task of another',
    ],
    ['layerloom merge recipe.yaml --dry-run', 'print the plan of a recipe'],
    ['layerloom swap --help', 'the options of a command'],
  ]);
  return program.addHelpText(
    'after',
    `
Exit codes: 0 done, 1 failed, 2 usage or recipe, 3 incompatible or corrupt
input, 4 part of a batch failed, 130 interrupted.`,
  );
};
