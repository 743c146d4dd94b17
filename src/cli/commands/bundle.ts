import { argument, command } from '../framework/command.js';
import { optionGroups } from '../framework/help.js';
import { option } from '../framework/option.js';

const group = optionGroups.output;

export const bundle = command({
  name: 'bundle',
  group: 'experiments',
  summary: 'write a study as one file without weights: record, results, answers, recipes and statements',
  arguments: { directory: argument('<dir>', 'the directory of a batch, with or without scores') },
  options: {
    out: option('-o, --out <file>', 'the tar file to write', { required: true, group }),
    dryRun: option('--dry-run', 'print what the file would hold, and write nothing', {
      group: optionGroups.running,
    }),
    force: option('--force', 'replace the file if it exists', { group }),
  },
  examples: [
    ['layerloom bundle ./study -o study.tar --dry-run', 'what it holds and what it leaves out'],
    ['layerloom bundle ./study -o study.tar', 'a file to publish, the same for the same study'],
  ],
  run: async (given) => (await import('../work/studies/bundle.js')).bundleCommand(given),
});
