import type { Command } from 'commander';

/** The groups of commands that `layerloom --help` shows, in this order. */
export const commandGroups = {
  merging: 'Merge:',
  looking: 'Look at models:',
  experiments: 'Run and score experiments:',
  installation: 'Installation:',
} as const;

/** The groups of options that the help of a command shows, after those of its own. */
export const optionGroups = {
  output: 'Output:',
  running: 'Running:',
  messages: 'Messages:',
} as const;

/** A command line as a user would type it, and in a few words its purpose. */
export type Example = readonly [command: string, purpose: string];

/** Ends a command's help with examples. Each command has at least two (test/cli/help.test.ts). */
export const addExamples = (
  command: Command,
  examples: readonly [Example, Example, ...Example[]],
): Command => {
  const width = Math.max(...examples.map(([line]) => line.length));
  const lines = examples.map(([line, purpose]) => `  $ ${line.padEnd(width)}   # ${purpose}`);
  return command.addHelpText('after', `\nExamples:\n${lines.join('\n')}`);
};
