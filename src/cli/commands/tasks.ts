import { argument, command, commandOfCommands } from '../framework/command.js';

const list = command({
  name: 'list',
  summary: "list the paper's benchmarks with their tasks in each language",
  options: {},
  examples: [
    ['layerloom tasks list', 'the names that evaluate: takes'],
    ['layerloom tasks list --json', 'the same, for a program'],
  ],
  run: async (given) => (await import('../work/studies/tasks.js')).tasksListCommand(given),
});

const data = command({
  name: 'data',
  summary: 'check a directory of local data: what is there, what is missing, what is wrong',
  arguments: { directory: argument('<dir>', 'the directory that data: of evaluate: names') },
  options: {},
  examples: [
    ['layerloom tasks data ./mgsm', 'what could be measured without the hub'],
    ['layerloom tasks data ./mgsm --json', 'the same, for a program'],
  ],
  run: async (given) => (await import('../work/studies/tasks.js')).tasksDataCommand(given),
});

export const tasks = commandOfCommands({
  name: 'tasks',
  group: 'experiments',
  summary: 'the benchmarks that can be measured, and data for them',
  commands: [list, data],
  examples: [
    ['layerloom tasks list', 'the names that evaluate: takes'],
    ['layerloom tasks data ./mgsm', 'what could be measured without the hub'],
  ],
});
