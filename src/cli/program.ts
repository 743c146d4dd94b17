import { Command, Option } from 'commander';
import { version } from '../core/base/files/version.js';
import { analyze } from './commands/analyze.js';
import { apply } from './commands/apply.js';
import { attest } from './commands/attest.js';
import { batch } from './commands/batch.js';
import { build } from './commands/build.js';
import { bundle } from './commands/bundle.js';
import { cache } from './commands/cache.js';
import { chain } from './commands/chain.js';
import { completion } from './commands/completion.js';
import { diff } from './commands/diff.js';
import { doctor } from './commands/doctor.js';
import { draw } from './commands/draw.js';
import { evaluate } from './commands/evaluate.js';
import { experiment } from './commands/experiment.js';
import { exportModel } from './commands/export.js';
import { extractLora } from './commands/extract-lora.js';
import { inspect } from './commands/inspect.js';
import { merge } from './commands/merge.js';
import { partition } from './commands/partition.js';
import { push } from './commands/push.js';
import { rebuild } from './commands/rebuild.js';
import { recipe } from './commands/recipe.js';
import { relayout } from './commands/relayout.js';
import { report } from './commands/report.js';
import { rescore } from './commands/rescore.js';
import { revert } from './commands/revert.js';
import { schema } from './commands/schema.js';
import { search } from './commands/search.js';
import { select } from './commands/select.js';
import { soup } from './commands/soup.js';
import { store } from './commands/store.js';
import { suggest } from './commands/suggest.js';
import { swap } from './commands/swap.js';
import { table } from './commands/table.js';
import { tasks } from './commands/tasks.js';
import { train } from './commands/train.js';
import { transplant } from './commands/transplant.js';
import { tryModels } from './commands/try.js';
import { verify } from './commands/verify.js';
import { resolveDash } from './dash-output.js';
import type { CommandDeclaration } from './framework/command.js';
import { addExamples, commandGroups, ExampleCommand, helpLayout, optionGroups } from './framework/help.js';
import { hasColours } from './print.js';

/** Commands by name. A command's module is only evaluated if the command is added. */
const commands: Readonly<Record<string, () => CommandDeclaration>> = {
  swap: () => swap,
  soup: () => soup,
  revert: () => revert,
  merge: () => merge,
  apply: () => apply,
  relayout: () => relayout,
  transplant: () => transplant,
  'extract-lora': () => extractLora,
  recipe: () => recipe,
  analyze: () => analyze,
  suggest: () => suggest,
  inspect: () => inspect,
  partition: () => partition,
  train: () => train,
  experiment: () => experiment,
  batch: () => batch,
  tasks: () => tasks,
  evaluate: () => evaluate,
  table: () => table,
  report: () => report,
  draw: () => draw,
  rescore: () => rescore,
  bundle: () => bundle,
  rebuild: () => rebuild,
  search: () => search,
  select: () => select,
  diff: () => diff,
  verify: () => verify,
  attest: () => attest,
  chain: () => chain,
  try: () => tryModels,
  store: () => store,
  cache: () => cache,
  push: () => push,
  export: () => exportModel,
  doctor: () => doctor,
  build: () => build,
  completion: () => completion,
  schema: () => schema,
};

export const isCommand = (name: string): boolean => Object.hasOwn(commands, name);

/**
 * Errors are thrown: commander neither prints nor exits. @param only the single command to add; default: all
 */
export const buildProgram = (only?: string): Command => {
  const program = new ExampleCommand('layerloom');
  program
    .description('Merges fine-tuned LLM checkpoints by layer swapping: exact, fast, with little memory')
    .optionsGroup(optionGroups.messages)
    .version(version, '-V, --version', 'print the version; with --json also the platform')
    .addHelpOption(
      new Option('-h, --help', 'print this help; -h prints a short form').helpGroup(optionGroups.messages),
    )
    .configureHelp(helpLayout)
    .exitOverride()
    .configureOutput({ writeErr: () => undefined, getOutHasColors: hasColours })
    .showSuggestionAfterError(false)
    .hook('preAction', (_, command) => resolveDash(command));
  program.addHelpCommand(
    new Command('help')
      .argument('[command]')
      .description('print the help of a command')
      .helpGroup(commandGroups.installation),
  );
  for (const [name, declaration] of Object.entries(commands))
    if (only === undefined || name === only) declaration().addTo(program);
  addExamples(program, [
    [
      'layerloom swap --task ./math-1 --lang ./swh-1 -o ./merged',
      'combine the language of one expert with the task of another',
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
