import { argument, command } from '../framework/command.js';
import { optionGroups } from '../framework/help.js';
import { option } from '../framework/option.js';
import { threads } from '../options/common.js';

export const rebuild = command({
  name: 'rebuild',
  group: 'experiments',
  summary: 'unpack a bundled study, and make its merges again from the experts',
  arguments: { file: argument('<file>', 'a file of layerloom bundle, from anybody') },
  options: {
    experts: option(
      '--experts <dir>',
      'folder of models by name; remake every merge whose models are in it (or in the hub cache), and compare',
    ),
    out: option('-o, --out <dir>', 'the directory to create', {
      default: "the file's name without .tar",
      group: optionGroups.output,
    }),
    resume: option('--resume', 'continue an earlier rebuild in its directory', {
      group: optionGroups.running,
    }),
    threads,
  },
  examples: [
    ['layerloom rebuild study.tar -o ./again', 'all that tables and reports need'],
    [
      'layerloom rebuild study.tar -o ./again --experts ./experts',
      'also every merge, compared with its recorded SHA-256',
    ],
  ],
  run: async (given) => (await import('../work/studies/rebuild.js')).rebuildCommand(given),
});
