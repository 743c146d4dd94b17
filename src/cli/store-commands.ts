import type { Command } from 'commander';
import { addExamples, commandGroups, type Example, optionGroups, optionOf } from './help.js';
import { addOutputOptions, type OutputOptions, threadsOption } from './options.js';

/** Adds `layerloom store ls`, `verify` and `gc`. */
export const addStore = (program: Command): void => {
  const store = program
    .command('store')
    .helpCommand(false)
    .helpGroup(commandGroups.experiments)
    .description('list, verify and clean up a store of shared shards');
  const add = (
    name: string,
    description: string,
    examples: readonly [Example, Example],
    extend: (command: Command) => Command = (command) => command,
  ): Command => {
    const command = store.command(name).description(description).argument('<dir>', 'the store');
    return addExamples(addOutputOptions(extend(command)), examples);
  };
  add('ls', 'list the shards, and those being computed', [
    ['layerloom store ls ./study/.store', 'list the shards of a batch'],
    ['layerloom store ls ./study/.store --json', 'the same as JSON'],
  ]).action(async (directory: string, options: OutputOptions) => {
    const { storeLsCommand } = await import('./store.js');
    await storeLsCommand(directory, options);
  });
  add(
    'verify',
    'read every shard and compare it with its recorded checksum',
    [
      ['layerloom store verify ./study/.store', 'find damaged shards'],
      ['layerloom store verify ./study/.store -j 2', 'the same with two threads'],
    ],
    (command) => command.addOption(threadsOption()),
  ).action(async (directory: string, options: OutputOptions & { threads?: number }) => {
    const { storeVerifyCommand } = await import('./store.js');
    await storeVerifyCommand(directory, options);
  });
  add(
    'gc',
    'remove shards that no experiment needs, and leftovers of dead processes',
    [
      ['layerloom store gc ./study/.store --dry-run', 'print what would be removed'],
      ['layerloom store gc ./study/.store', 'remove it'],
    ],
    (command) =>
      command.addOption(
        optionOf('--dry-run', 'print what would be removed, and remove nothing', {
          group: optionGroups.running,
        }),
      ),
  ).action(async (directory: string, options: OutputOptions & { dryRun?: boolean }) => {
    const { storeGcCommand } = await import('./store.js');
    await storeGcCommand(directory, options);
  });
  addExamples(store, [
    ['layerloom store ls ./study/.store', 'list the shards of a batch'],
    ['layerloom store gc ./study/.store --dry-run', 'print which shards no merge needs'],
  ]);
};
