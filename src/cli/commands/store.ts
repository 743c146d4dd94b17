import { argument, command, commandOfCommands } from '../framework/command.js';
import { dryRemoval, threads } from '../options/common.js';

const directory = argument('<dir>', 'the store');

const ls = command({
  name: 'ls',
  summary: 'list the shards, and those being computed',
  arguments: { directory },
  examples: [
    ['layerloom store ls ./study/.store', 'list the shards of a batch'],
    ['layerloom store ls ./study/.store --json', 'the same as JSON'],
  ],
  run: async (given) => (await import('../work/studies/store.js')).storeLsCommand(given),
});

const verify = command({
  name: 'verify',
  summary: 'read every shard and compare it with its recorded checksum',
  arguments: { directory },
  options: { threads },
  examples: [
    ['layerloom store verify ./study/.store', 'find damaged shards'],
    ['layerloom store verify ./study/.store -j 2', 'the same with two threads'],
  ],
  run: async (given) => (await import('../work/studies/store.js')).storeVerifyCommand(given),
});

const gc = command({
  name: 'gc',
  summary: 'remove shards that no experiment needs, and leftovers of dead processes',
  arguments: { directory },
  options: { dryRun: dryRemoval },
  examples: [
    ['layerloom store gc ./study/.store --dry-run', 'print what would be removed'],
    ['layerloom store gc ./study/.store', 'remove it'],
  ],
  run: async (given) => (await import('../work/studies/store.js')).storeGcCommand(given),
});

export const store = commandOfCommands({
  name: 'store',
  group: 'experiments',
  summary: 'list, verify and clean up a store of shared shards',
  commands: [ls, verify, gc],
  examples: [
    ['layerloom store ls ./study/.store', 'list the shards of a batch'],
    ['layerloom store gc ./study/.store --dry-run', 'print which shards no merge needs'],
  ],
});
