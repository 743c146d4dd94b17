import { argument, command } from '../framework/command.js';
import { optionGroups } from '../framework/help.js';
import { option } from '../framework/option.js';

export const push = command({
  name: 'push',
  group: 'hub',
  summary: 'upload a checkpoint to the Hugging Face hub: weights, side files and model card',
  arguments: {
    directory: argument('<dir>', 'the directory of a checkpoint'),
    repository: argument('<repository>', 'org/name; created if it is missing'),
  },
  options: {
    private: option('--private', 'if the repository is created, make it private'),
    revision: option('--revision <branch>', 'the branch; created if it is missing', { default: 'main' }),
    message: option('--message <text>', 'title of the commit', {
      default: 'Upload a checkpoint with layerloom',
    }),
    verify: option(
      '--verify',
      'refuse an output that has changed since its merge wrote it (layerloom verify)',
    ),
    dryRun: option('--dry-run', 'list and check the files, without asking the hub', {
      group: optionGroups.running,
    }),
  },
  examples: [
    ['layerloom push ./merged my-org/my-merge --dry-run', 'list the files, and check the model card'],
    ['layerloom push ./merged my-org/my-merge --private', 'upload them; run it again after an interruption'],
  ],
  run: async (given) => (await import('../work/models/push.js')).pushCommand(given),
});
