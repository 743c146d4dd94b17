import { argument, command } from '../framework/command.js';
import { optionGroups } from '../framework/help.js';
import { option } from '../framework/option.js';

export const push = command({
  name: 'push',
  group: 'hub',
  summary: 'upload a checkpoint to the Hugging Face hub: weights, side files and model card',
  arguments: {
    directory: argument('<dir>', 'the directory of a checkpoint'),
    repository: argument('<repository>', 'org/name; made if it is missing'),
  },
  options: {
    private: option('--private', 'make the repository private, if it is made now'),
    revision: option('--revision <branch>', 'the branch, made if it is missing', { default: 'main' }),
    message: option('--message <text>', 'title of the commit', {
      default: 'Upload a checkpoint with layerloom',
    }),
    verify: option('--verify', 'upload only an output that is as its merge wrote it, by layerloom verify'),
    dryRun: option('--dry-run', 'list and check the files, and ask nothing of the hub', {
      group: optionGroups.running,
    }),
  },
  examples: [
    ['layerloom push ./merged my-org/my-merge --dry-run', 'list the files, and check the model card'],
    ['layerloom push ./merged my-org/my-merge --private', 'upload them; run it again after an interruption'],
  ],
  run: async (given) => (await import('../work/models/push.js')).pushCommand(given),
});
