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
    dryRun: option('--dry-run', 'print what the file would contain, and write nothing', {
      group: optionGroups.running,
    }),
    force: option('--force', 'replace the file if it exists', { group }),
  },
  examples: [
    ['layerloom bundle ./study -o study.tar --dry-run', 'what the file would contain, and what not'],
    ['layerloom bundle ./study -o study.tar', 'a file to publish; the same study gives the same bytes'],
  ],
  run: async (given) => (await import('../work/studies/bundle.js')).bundleCommand(given),
});
