import { argument, command, commandOfCommands } from '../framework/command.js';
import { option } from '../framework/option.js';
import { dryRemoval } from '../options/common.js';

const ls = command({
  name: 'ls',
  summary: 'list the models, with their bytes that are here, and when they were used',
  examples: [
    ['layerloom cache ls', 'list the models'],
    ['layerloom cache ls --json', 'the same with every file, as JSON'],
  ],
  run: async (given) => (await import('../work/models/cache.js')).cacheLsCommand(given),
});

const gc = command({
  name: 'gc',
  summary: 'remove models, but those that a process is using',
  arguments: { models: argument('[model...]', 'org/name, or org/name@commit') },
  options: {
    olderThan: option('--older-than <age>', 'models that were not used for this long: 30d, 12h'),
    all: option('--all', 'all models'),
    dryRun: dryRemoval,
  },
  examples: [
    ['layerloom cache gc --older-than 30d', 'remove models that were not used for a month'],
    ['layerloom cache gc --all --dry-run', 'print what the models take on the disk'],
  ],
  run: async (given) => (await import('../work/models/cache.js')).cacheGcCommand(given),
});

export const cache = commandOfCommands({
  name: 'cache',
  group: 'hub',
  summary: 'list and clear the models of the hub that --download fetched in part',
  commands: [ls, gc],
  examples: [
    ['layerloom cache ls', 'list the models'],
    ['layerloom cache gc --older-than 30d', 'remove models that were not used for a month'],
  ],
});
