import { argument, command } from '../framework/command.js';
import { option } from '../framework/option.js';
import { lmEval } from '../options/common.js';
import { toArguments } from '../options/parse.js';
import { numberOption } from '../options/usual-options.js';

export const tryModels = command({
  name: 'try',
  group: 'looking',
  summary: 'give several models the same prompt, and show their answers side by side',
  arguments: {
    words: argument(
      '<model...>',
      'models: directories, BASE+ADAPTER, or org/name; the last word is the prompt',
    ),
  },
  options: {
    maxTokens: numberOption('--max-tokens <n>', 'maximum number of tokens in an answer', '128'),
    chat: option('--chat', "put the prompt into each model's chat template"),
    device: option('--device <name>', 'device, such as cpu or cuda:0', { default: 'a GPU, if there is one' }),
    modelArgs: option(
      '--model-args <list>',
      "arguments for the harness's model type hf: dtype=float32,trust_remote_code=true",
      { parse: toArguments },
    ),
    lmEval,
  },
  examples: [
    [
      'layerloom try ./math-1 ./swh-1 ./merged "Swali: 3 + 4 ni ngapi? Jibu:"',
      'the experts and their merge, loading only the tensors that differ',
    ],
    [
      'layerloom try ./study/swahili/*/default --chat --max-tokens 200 "Habari?"',
      'the default merge of each pair',
    ],
  ],
  run: async (given) => (await import('../work/studies/try.js')).tryCommand(given),
});
