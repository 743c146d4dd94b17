import { argument, command } from '../framework/command.js';
import { config, download, modelWords } from '../options/common.js';

export const inspect = command({
  name: 'inspect',
  group: 'looking',
  summary: 'show architecture, layers, dtypes, parameters, shards and sizes',
  arguments: { model: argument('<checkpoint>', modelWords) },
  options: { config, download: download('the headers of a model that is not on this machine') },
  examples: [
    ['layerloom inspect ./math-1', 'read the headers of a checkpoint'],
    ['layerloom inspect ./math-1/model.safetensors --json', 'one file, as JSON'],
    ['layerloom inspect ./math-lora', 'an adapter: ranks, scales and modules'],
  ],
  run: async (given) => (await import('../work/models/inspect.js')).inspectCommand(given),
});
