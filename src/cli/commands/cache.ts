import { argument, command, commandOfCommands } from '../framework/command.js';
import { option } from '../framework/option.js';
import { dryRemoval } from '../options/common.js';

const ls = command({
  name: 'ls',
  summary: 'list the models, their size on this disk, and when they were last used',
  examples: [
    ['layerloom cache ls', 'list the models'],
    ['layerloom cache ls --json', 'the same with every file, as JSON'],
  ],
  run: async (given) => (await import('../work/models/cache.js')).cacheLsCommand(given),
});

const gc = command({
  name: 'gc',
  summary: 'remove models, except those that a process is using',
  arguments: { models: argument('[model...]', 'org/name, or org/name@commit') },
  options: {
    olderThan: option('--older-than <age>', 'models not used for this long: 30d, 12h'),
    all: option('--all', 'all models'),
    dryRun: dryRemoval,
  },
  examples: [
    ['layerloom cache gc --older-than 30d', 'remove models not used for 30 days'],
    ['layerloom cache gc --all --dry-run', 'print how much disk space the models take'],
  ],
  run: async (given) => (await import('../work/models/cache.js')).cacheGcCommand(given),
});

export const cache = commandOfCommands({
  name: 'cache',
  group: 'hub',
  summary: 'list and remove hub models that --download fetched in part only',
  commands: [ls, gc],
  examples: [
    ['layerloom cache ls', 'list the models'],
    ['layerloom cache gc --older-than 30d', 'remove models not used for 30 days'],
  ],
});
