import { existsSync } from 'node:fs';
import type { Command, CommanderError, Option } from 'commander';
import { shellPath } from '../core/base/errors/command-line.js';
import { LayerloomError } from '../core/base/errors/errors.js';
import { nearest } from '../core/base/nearest.js';
import { argumentTerm, firstClause, wholeName } from './framework/help.js';
import { spellingsOf, whyRefused } from './options/spellings.js';
import { inPlaceOf, otherCommands, plainWord } from './other-commands.js';

/** Commander's codes for missing or surplus words. A misspelt option often causes them. */
const aboutWords = [
  'commander.unknownOption',
  'commander.missingMandatoryOptionValue',
  'commander.missingArgument',
  'commander.excessArguments',
];

const usageError = (reason: string): LayerloomError => new LayerloomError('USAGE', { reason });

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

const seeHelp = (command: Command): string => `see \`${wholeName(command)} --help\``;

const advice = (meant: readonly string[], command: Command): string =>
  meant.length === 0
    ? seeHelp(command)
    : `did you mean ${listed(meant.slice(0, 3), 'or')}? Or ${seeHelp(command)}`;

const listed = (words: readonly string[], last: string): string =>
  words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} ${last} ${words.at(-1)}`;

/**
 * Returns candidates that the word begins, or that begin the word; the shorter has at least `shortest` letters.
 */
const completions = (word: string, candidates: readonly string[], shortest: number): string[] => {
  if (word.length < shortest) return [];
  const completed = candidates.filter((one) => one.startsWith(word));
  if (completed.length > 0) return completed;
  return candidates.filter((one) => one.length >= shortest && word.startsWith(one));
};

/** Returns the options that a flag may mean: another spelling, a similar name, or names that begin with it. */
const meantOptions = (flag: string, known: readonly string[]): readonly string[] => {
  const shown = new Map(known.flatMap((long) => spellingsOf(long).map((spelling) => [spelling, long])));
  const found = shown.has(flag) ? flag : flag.startsWith('--') ? nearest(flag, shown.keys()) : undefined;
  if (found !== undefined) return [shown.get(found) ?? found];
  const begun = completions(flag, [...shown.keys()], 5).map((name) => shown.get(name) ?? name);
  return [...new Set(begun)].sort((a, b) => a.length - b.length);
};

const longsOf = (command: Command): string[] =>
  command
    .createHelp()
    .visibleOptions(command)
    .flatMap(({ long }) => long ?? []);

const ofArguments =
  /^--(models?|inputs?|path|file|dir|directory|config|recipe|checkpoints?|experiment)-?\d*$/;

/** Explains a flag for something that is an argument in this command. */
const byArguments = (flag: string, command: Command): string | undefined => {
  const names = command.registeredArguments.map((argument) => argument.name());
  const isNamed = names.some((name) => spellingsOf(`--${name}`).includes(flag));
  if (!ofArguments.test(flag) && !isNamed) return undefined;
  if (names.length > 0) return `give it without an option: \`${command.createHelp().commandUsage(command)}\``;
  const mandatory = command.options.filter((one) => one.mandatory).flatMap(({ long }) => long ?? []);
  return mandatory.length === 0 ? undefined : `models are named by ${listed(mandatory, 'and')}`;
};

const unknownOption = (given: string, command: Command, program: Command): LayerloomError => {
  const flag = given.replace(/=.*$/s, '');
  // Matches `-output` and `--Base_Model`.
  const [dashed, spelt] = [
    /^-[^-]./.test(flag) ? `-${flag}` : flag,
    flag.length > 2 ? plainFlag(flag) : flag,
  ];
  const known = longsOf(command);
  const isKnown = known.some((long) => spellingsOf(long).includes(spelt));
  const reason = isKnown ? undefined : (whyRefused(spelt, command.name()) ?? byArguments(spelt, command));
  if (reason !== undefined)
    return usageError(
      `unknown option ${flag}: ${reason}${reason.includes('leave it out') ? '' : `; ${seeHelp(command)}`}`,
    );
  const isOfCommands =
    command === program &&
    program.commands.some((one) => one.options.some(({ long, short }) => long === spelt || short === flag));
  if (isOfCommands)
    return usageError(`${flag} is an option of commands: write it after the command; ${seeHelp(program)}`);
  const meant = meantOptions(isKnown ? spelt : dashed, known);
  const needed = missingOptions(command);
  const needs =
    meant.length === 0 && needed.length > 0 ? `${command.name()} needs ${listed(needed, 'and')}; ` : '';
  return usageError(`unknown option ${flag}; ${needs}${advice(meant, command)}`);
};

/** Returns one error for several options of another program, if all must be left out. */
const refusedTogether = (unknown: readonly string[], command: Command): LayerloomError | undefined => {
  const known = longsOf(command).flatMap((long) => spellingsOf(long));
  const flags = unknown
    .filter((word) => /^--?[a-z]/i.test(word))
    .map((word) => plainFlag(word.replace(/=.*$/s, '')))
    .filter((flag) => !known.includes(flag));
  const reasons = flags.map((flag) => whyRefused(flag, command.name()));
  if (flags.length < 2 || !reasons.every((reason) => reason?.endsWith('; leave it out'))) return undefined;
  const said = flags.map((flag, at) => `${flag} (${reasons[at]?.replace('; leave it out', '')})`);
  return usageError(`unknown options, to be left out: ${said.join(', ')}`);
};

const missingOptions = (command: Command): string[] =>
  command.options
    .filter((one) => one.mandatory && command.getOptionValue(one.attributeName()) === undefined)
    .map(withValue);

const plainFlag = (flag: string): string =>
  `--${flag
    .replace(/^[-–—−]+/, '')
    .toLowerCase()
    .replaceAll('_', '-')}`;

/**
 * Returns an error for `-out DIR`, which would be read as `-o ut`, and for `–out`, with a typographic dash.
 */
export const wrongDashIn = (args: readonly string[], program: Command): LayerloomError | undefined => {
  const { command, path } = commandOf(program, args);
  const names = longsOf(command).flatMap((long) => spellingsOf(long));
  const takesValue = (word = ''): boolean =>
    command.options.some((one) => one.required && (one.short === word || one.long === word));
  const given = beforeDashes(args.slice(path.length)).find((word, at, words) => {
    if (takesValue(words[at - 1])) return false;
    const [, name = ''] = /^(?:-(?=[a-z]{2})|(?=-*[–—−])[-–—−]{1,3})([a-z][a-z-]*)(?:=|$)/.exec(word) ?? [];
    return names.includes(`--${name}`);
  });
  return given === undefined ? undefined : unknownOption(given, command, program);
};

/** Node replaces bytes that are not UTF-8, which changes paths. */
export const undecodedIn = (args: readonly string[]): LayerloomError | undefined => {
  const given = args.find((word) => word.includes('\ufffd'));
  return given === undefined
    ? undefined
    : usageError(`${given} has bytes that are not UTF-8, which Node replaces; use a path without them`);
};

/** Returns the words before `--`; later ones are not options. */
export const beforeDashes = (args: readonly string[]): readonly string[] =>
  args.includes('--') ? args.slice(0, args.indexOf('--')) : args;

/** Names subcommands, for users who omit the first word: `experiment init` for `init`. */
const subcommandsNamed = (program: Command, word: string): string[] =>
  program.commands.flatMap((one) =>
    one.commands.filter((each) => each.name() === word).map((each) => `${one.name()} ${each.name()}`),
  );

const meantCommands = (word: string, path: readonly string[], program: Command): readonly string[] => {
  const { command } = commandOf(program, path);
  const names = command.commands.map((one) => one.name());
  const other = otherCommands.get(plainWord([...path, word].join(' ')));
  if (other !== undefined) return [other];
  const found = nearest(word, names);
  if (found !== undefined) return [found];
  const plain = new Map(names.map((name) => [plainWord(name), name]));
  const begun = completions(plainWord(word), [...plain.keys()], 3).map((name) => plain.get(name) ?? name);
  if (begun.length > 0) return begun;
  if (path.length > 0) return [];
  const below = subcommandsNamed(program, word);
  if (below.length > 0) return below;
  // The word is a file or directory that lacks a command before it.
  if (/\.(ya?ml|json|md)$/i.test(word)) return [`merge ${shellPath(word)}`];
  return word.includes('/') ? [`inspect ${shellPath(word)}`] : [];
};

const unknownCommand = (word: string, path: readonly string[], program: Command): LayerloomError => {
  const names = [...otherCommands.keys(), ...program.commands.map((one) => one.name())];
  const reason = path.length > 0 || names.includes(plainWord(word)) ? undefined : inPlaceOf(word);
  if (reason !== undefined) return usageError(`unknown command ${word}: ${reason}; ${seeHelp(program)}`);
  return usageError(
    `unknown command ${[...path, word === '' ? "''" : word].join(' ')}; ${advice(meantCommands(word, path, program), commandOf(program, path).command)}`,
  );
};

export const unknownHelpOf = (names: readonly string[], program: Command): LayerloomError | undefined => {
  const { command, path } = commandOf(program, names);
  const unknown = names[path.length];
  if (unknown === undefined || command.commands.length === 0) return undefined;
  return unknownCommand(unknown, path, program);
};

const withValue = ({ flags }: Option): string => flags.replace(/^-\w, /, '');

/** Returns an error if an option was taken as the value of another. `--directive --time=1` is intended. */
export const swallowedIn = (command: Command): LayerloomError | undefined => {
  const longs = longsOf(command);
  for (const option of command.options) {
    const value: unknown = command.getOptionValue(option.attributeName());
    if (typeof value !== 'string' || !longs.includes(value.replace(/=.*$/s, ''))) continue;
    return usageError(
      `${withValue(option)} has no value, because the option ${value} follows; ${seeHelp(command)}`,
    );
  }
  return undefined;
};

const said = (words: readonly string[]): string => listed(words.slice(0, 3).map(shellPath), 'and');

const yaml = /\.ya?ml$/i;

const hintsAbout = (extra: readonly string[], name: string): string[] => {
  if (extra.length === 0) return [];
  if (extra.every((word) => /^[\d.,]+$/.test(word))) return ['join several values by commas, as in 1,2'];
  if (name === 'merge' && extra.some((word) => yaml.test(word)))
    return ['give the recipe first, and the output with -o'];
  if (extra.some((word) => word.trim() === ''))
    return ['a space seems to follow the \\ at the end of a line'];
  return name === 'merge' ? ['soup averages models, and swap exchanges their layers'] : [];
};

const misfit = (command: Command, operands: readonly string[]): LayerloomError => {
  const taken = command.registeredArguments;
  const name = wholeName(command).replace(/^layerloom /, '');
  const lacking = taken.slice(operands.length).filter((one) => one.required);
  const missing = [...lacking.map(argumentTerm), ...missingOptions(command)];
  const [only] = missing.length === 1 ? lacking : [];
  const choices = only?.argChoices ?? [];
  const meaning =
    only === undefined
      ? ''
      : `, ${firstClause(only.description)}${choices.length === 0 ? '' : `: ${listed(choices, 'or')}`}`;
  const extra = taken.some((one) => one.variadic) ? [] : operands.slice(taken.length);
  const takes = taken.length === 0 ? 'no arguments' : `only ${taken.map(argumentTerm).join(' ')}`;
  const lacksOut = command.options.some(
    (one) => one.long === '--out' && command.getOptionValue(one.attributeName()) === undefined,
  );
  const isFree = name === 'merge' || !existsSync(extra[0] ?? '');
  const mayBeOut =
    !yaml.test(extra[0] ?? '') && extra.length === 1 && lacksOut && missing.length === 0 && isFree;
  const [out] = mayBeOut ? extra : [];
  if (extra.length === 0 && missing.join() === '--out <dir>')
    return usageError('--out is missing: name the directory to create, as in -o ./out');
  const parts = [
    ...(extra.length === 0
      ? []
      : [`${name} takes ${takes}; ${said(extra)} ${extra.length === 1 ? 'is' : 'are'} too many`]),
    ...(out === undefined ? hintsAbout(extra, name) : []),
    ...(missing.length === 0
      ? []
      : [`${extra.length === 0 ? name : 'it'} needs ${listed(missing, 'and')}${meaning}`]),
  ].join('; ');
  return usageError(`${parts}; ${advice(out === undefined ? [] : [`-o ${shellPath(out)}`], command)}`);
};

/** Reports an unknown option before a missing one, with options or commands that it may mean. */
export const usageErrorOf = (
  { code, message }: CommanderError,
  args: readonly string[],
  program: Command,
): LayerloomError => {
  const { command, path } = commandOf(program, args);
  const [, quoted = ''] = /'(.*)'/s.exec(message) ?? [];
  if (code === 'commander.unknownCommand') return unknownCommand(quoted, path, program);
  if (code === 'commander.optionMissingArgument')
    return usageError(`${quoted.replace(/^-\w, /, '')} has no value; ${seeHelp(command)}`);
  if (!aboutWords.includes(code)) return usageError(message.replace(/^error: /, ''));
  const { operands, unknown } = command.parseOptions(args.slice(path.length));
  const [first] = unknown;
  if (first !== undefined) return refusedTogether(unknown, command) ?? unknownOption(first, command, program);
  return swallowedIn(command) ?? misfit(command, operands);
};
