import { argument, command, commandOfCommands } from '../framework/command.js';

const list = command({
  name: 'list',
  summary: "list the paper's benchmarks with their tasks in each language",
  options: {},
  examples: [
    ['layerloom tasks list', 'the task names for evaluate:'],
    ['layerloom tasks list --json', 'the same, for a program'],
  ],
  run: async (given) => (await import('../work/studies/tasks.js')).tasksListCommand(given),
});

const data = command({
  name: 'data',
  summary: 'check a directory of local data for missing and invalid files',
  arguments: { directory: argument('<dir>', 'the directory given by data: in evaluate:') },
  options: {},
  examples: [
    ['layerloom tasks data ./mgsm', 'which tasks can be scored without the hub'],
    ['layerloom tasks data ./mgsm --json', 'the same, for a program'],
  ],
  run: async (given) => (await import('../work/studies/tasks.js')).tasksDataCommand(given),
});

export const tasks = commandOfCommands({
  name: 'tasks',
  group: 'experiments',
  summary: 'list benchmarks, and check local data for them',
  commands: [list, data],
  examples: [
    ['layerloom tasks list', 'the task names for evaluate:'],
    ['layerloom tasks data ./mgsm', 'which tasks can be scored without the hub'],
  ],
});
