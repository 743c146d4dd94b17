import type { Command } from 'commander';
import type { CacheGcOptions } from './cache.js';
import { addExamples, commandGroups, optionGroups, optionOf } from './help.js';
import { addOutputOptions, type OutputOptions } from './options.js';
import type { PushCliOptions } from './push.js';

// Commands about the Hugging Face hub: their options. Their work is loaded when one is called.

/** Adds `layerloom cache ls` and `gc`. */
export const addCache = (program: Command): void => {
  const cache = program
    .command('cache')
    .helpCommand(false)
    .helpGroup(commandGroups.hub)
    .description('list and clear the models of the hub that --download fetched in part');
  const ls = cache
    .command('ls')
    .description('list the models, with their bytes that are here, and when they were used');
  addOutputOptions(ls).action(async (options: OutputOptions) => {
    const { cacheLsCommand } = await import('./cache.js');
    await cacheLsCommand(options);
  });
  addExamples(ls, [
    ['layerloom cache ls', 'list the models'],
    ['layerloom cache ls --json', 'the same with every file, as JSON'],
  ]);
  const gc = cache
    .command('gc')
    .description('remove models, but those that a process is using')
    .argument('[model...]', 'org/name, or org/name@commit')
    .addOption(optionOf('--older-than <age>', 'models that were not used for this long: 30d, 12h'))
    .addOption(optionOf('--all', 'all models'))
    .addOption(
      optionOf('--dry-run', 'print what would be removed, and remove nothing', {
        group: optionGroups.running,
      }),
    );
  addOutputOptions(gc).action(async (models: string[], options: CacheGcOptions) => {
    const { cacheGcCommand } = await import('./cache.js');
    await cacheGcCommand(models, options);
  });
  addExamples(gc, [
    ['layerloom cache gc --older-than 30d', 'remove models that were not used for a month'],
    ['layerloom cache gc --all --dry-run', 'print what the models take on the disk'],
  ]);
  addExamples(cache, [
    ['layerloom cache ls', 'list the models'],
    ['layerloom cache gc --older-than 30d', 'remove models that were not used for a month'],
  ]);
};

/** Adds `layerloom push`. */
export const addPush = (program: Command): void => {
  const command = program
    .command('push')
    .helpGroup(commandGroups.hub)
    .description('upload a checkpoint to the Hugging Face hub: weights, side files and model card')
    .argument('<dir>', 'the directory of a checkpoint')
    .argument('<repository>', 'org/name; made if it is missing')
    .addOption(optionOf('--private', 'make the repository private, if it is made now'))
    .addOption(optionOf('--revision <branch>', 'the branch, made if it is missing', { default: 'main' }))
    .addOption(
      optionOf('--message <text>', 'title of the commit', { default: 'Upload a checkpoint with layerloom' }),
    )
    .addOption(
      optionOf('--dry-run', 'list and check the files, and ask nothing of the hub', {
        group: optionGroups.running,
      }),
    );
  addOutputOptions(command).action(async (directory: string, repository: string, options: PushCliOptions) => {
    const { pushCommand } = await import('./push.js');
    await pushCommand(directory, repository, options);
  });
  addExamples(command, [
    ['layerloom push ./merged my-org/my-merge --dry-run', 'list the files, and check the model card'],
    ['layerloom push ./merged my-org/my-merge --private', 'upload them; run it again after an interruption'],
  ]);
};
