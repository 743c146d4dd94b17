import type { Command, CommanderError } from 'commander';
import { LayerloomError } from '../core/base/errors/errors.js';
import { nearest } from '../core/methods/recipe/document/nearest.js';
import { spellingsOf } from './options/spellings.js';

/** Errors of commander that a misspelt option may cause; they hide the real mistake. */
const causedByOptions = [
  'commander.unknownOption',
  'commander.missingMandatoryOptionValue',
  'commander.missingArgument',
];

/** Returns the option meant by a word: a synonym, a near spelling, or the only completion. */
const meantOption = (flag: string, known: readonly string[]): string | undefined => {
  if (!/^--[^-]/.test(flag)) return undefined;
  const shown = new Map(known.flatMap((long) => spellingsOf(long).map((spelling) => [spelling, long])));
  const found = shown.has(flag) ? flag : nearest(flag, shown.keys());
  if (found !== undefined) return shown.get(found);
  const alike = [...shown].filter(
    ([name]) => Math.min(name.length, flag.length) > 4 && (name.startsWith(flag) || flag.startsWith(name)),
  );
  const longs = new Set(alike.map(([, long]) => long));
  return longs.size === 1 ? [...longs][0] : undefined;
};

/** Returns the command that the first words name, and its name words. */
export const commandOf = (
  program: Command,
  args: readonly string[],
): { readonly command: Command; readonly path: readonly string[] } => {
  let command = program;
  const path: string[] = [];
  for (const word of args) {
    const found = command.commands.find((known) => known.name() === word);
    if (found === undefined) break;
    command = found;
    path.push(word);
  }
  return { command, path };
};

/**
 * Returns an error for `layerloom help NAME…` with an unknown name; commander would print the help of all
 * commands.
 */
export const unknownHelpOf = (args: readonly string[], program: Command): LayerloomError | undefined => {
  if (args[0] !== 'help') return undefined;
  const names = args.slice(1).filter((word) => !word.startsWith('-'));
  const { command, path } = commandOf(program, names);
  const unknown = names[path.length];
  if (unknown === undefined || command.commands.length === 0) return undefined;
  const meant = nearest(
    unknown,
    command.commands.map((known) => known.name()),
  );
  return new LayerloomError('USAGE', {
    reason: `unknown command ${[...path, unknown].join(' ')}; ${meant === undefined ? '' : `did you mean ${meant}? Or `}see \`${['layerloom', ...path, '--help'].join(' ')}\``,
  });
};

/**
 * Converts commander's error to ours. An unknown option is reported before a missing required one, with the
 * nearest known option.
 */
export const usageErrorOf = (
  { code, message }: CommanderError,
  args: readonly string[],
  program: Command,
): LayerloomError => {
  const { command, path } = commandOf(program, args);
  const help = `see \`${['layerloom', ...path, '--help'].join(' ')}\``;
  const reason = message.replace(/^error: /, '');
  if (code === 'commander.excessArguments') {
    const hasOut = command.options.some(({ long }) => long === '--out');
    return new LayerloomError('USAGE', {
      reason: `${reason} ${hasOut ? 'The output is named by `-o DIR`; ' : ''}${help}`,
    });
  }
  if (!causedByOptions.includes(code)) return new LayerloomError('USAGE', { reason });
  const [unknown] = command.parseOptions(args.slice(path.length)).unknown;
  if (unknown === undefined) return new LayerloomError('USAGE', { reason: `${reason}; ${help}` });
  const flag = unknown.replace(/=.*$/s, '');
  const known = command
    .createHelp()
    .visibleOptions(command)
    .flatMap(({ long }) => long ?? []);
  const meant = meantOption(flag, known);
  return new LayerloomError('USAGE', {
    reason: `unknown option ${flag}; ${meant === undefined ? '' : `did you mean ${meant}? Or `}${help}`,
  });
};
