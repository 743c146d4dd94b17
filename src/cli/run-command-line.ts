import { existsSync } from 'node:fs';
import { inspect, stripVTControlCharacters } from 'node:util';
import { type Command, CommanderError } from 'commander';
import { LayerloomError, reasonOf } from '../core/base/errors/errors.js';
import { exitCodes } from '../core/base/errors/sentence.js';
import { version } from '../core/base/files/version.js';
import { withCode } from '../core/base/files/writing.js';
import { instructionSets } from '../core/native/addon.js';
import { type CommandDescription, describeCommands } from './framework/describe.js';
import { shortHelp } from './framework/help.js';
import { DeclaredOption } from './framework/option.js';
import { misspeltVariables } from './misspelt-variables.js';
import { commandsInPython, pythonName, type Reader, spellFor } from './options/spellings.js';
import { forgetPrinted, note, printedJson, printJson, printJsonLine, printText, warn } from './print.js';
import { buildProgram, isCommand } from './program.js';
import {
  beforeDashes,
  commandOf,
  undecodedIn,
  unknownHelpOf,
  usageErrorOf,
  wrongDashIn,
} from './usage-error.js';

const isQuiet = (args: readonly string[]): boolean => args.includes('-q') || args.includes('--quiet');

/**
 * Prints warnings that may explain the error, then the error; with --json also an object on stdout, with -v
 * the stack. Returns the exit code.
 */
export const reportError = (
  error: unknown,
  args: readonly string[],
  program: Command = buildProgram(),
): number => {
  const known = asLayerloomError(error, args, program);
  const message = known?.message ?? messageOf(error);
  if (!isQuiet(args)) known?.context.warnings?.forEach(warn);
  note(`error: ${message}`);
  const isVerbose = args.includes('-v') || args.includes('--verbose');
  if (isVerbose && known?.exitCode !== exitCodes.usage) note(inspect(error));
  if (args.includes('--json')) printError({ error: known ?? internal(error) }, args);
  return known?.exitCode ?? exitCodes.failed;
};

const messageOf = (error: unknown): string => {
  // Prints only the reason, because a SyntaxError's message quotes the text.
  if (error instanceof SyntaxError) return reasonOf(error);
  return error instanceof Error ? error.message : String(error);
};

const internal = (error: unknown) => ({ code: 'INTERNAL', message: messageOf(error), details: {} });

export interface ReportedError {
  readonly code: string;
  readonly message: string;
  readonly details: object;
  readonly exitCode: number;
  readonly warnings: readonly string[];
}

/** Describes an error for Python, with names of parameters instead of options. */
export const describeError = (error: unknown, args: readonly string[], program: Command): ReportedError => {
  const known = asLayerloomError(error, args, program, pythonName);
  const { message, ...described } = known?.toJSON() ?? internal(error);
  const warnings = known?.context.warnings ?? [];
  return {
    ...described,
    message: inPython(message, commandOf(program, args).command),
    exitCode: known?.exitCode ?? exitCodes.failed,
    warnings,
  };
};

const inPython = (text: string, { options }: Command): string =>
  commandsInPython(text).replace(/(?<![\w-])--[a-z][a-z-]*[a-z]/g, (long) =>
    options.some((option) => option.long === long) ? `\`${pythonName(long)}\`` : long,
  );

const eventCommands = ['batch', 'evaluate', 'search'];

/** Prints an error as JSON, unless stdout already has a document that states the failure. */
const printError = (value: object, [command = '']: readonly string[]): void => {
  if (printedJson() === 'document') return;
  if (printedJson() === 'events' || eventCommands.includes(command)) printJsonLine(value);
  else printJson(value);
};

const asLayerloomError = (
  thrown: unknown,
  args: readonly string[],
  program: Command,
  spell = (long: string): string => long,
): LayerloomError | undefined => {
  const error = withCode(thrown);
  if (error instanceof LayerloomError) {
    const option = optionOf(error, args, program);
    return option === undefined ? error : error.with({ option: spell(option) });
  }
  return error instanceof CommanderError ? usageErrorOf(error, args, program) : undefined;
};

const optionOf = (
  { code, details, context }: LayerloomError,
  args: readonly string[],
  program: Command,
): string | undefined => {
  if (code !== 'INVALID_PARAMETER' || context.place !== undefined || !('parameter' in details))
    return undefined;
  const { command } = commandOf(program, args);
  // `--tokenizer` sets a recipe's `tokenizer_source`.
  const parameter = details.parameter === 'tokenizerSource' ? 'tokenizer' : details.parameter;
  const name = parameter.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
  const found = command.options.find(
    (option) => option instanceof DeclaredOption && (option.key === name || option.attributeName() === name),
  );
  return found?.long;
};

const asksForVersionAsJson = (args: readonly string[]): boolean =>
  args.length === 2 && args.includes('--json') && (args.includes('--version') || args.includes('-V'));

const asksForHelpAsJson = (args: readonly string[]): boolean =>
  args.includes('--json') && beforeDashes(args).some((word) => word === '--help' || word === '-h');

const describeNamed = (program: Command, args: readonly string[]): CommandDescription[] => {
  const commands = describeCommands(program);
  const isNamed = ({ path }: CommandDescription) => path.every((name, index) => name === args[index]);
  const depth = Math.max(...commands.filter(isNamed).map(({ path }) => path.length));
  return commands.filter(({ path }) => path.slice(0, depth).join() === args.slice(0, depth).join());
};

const describeInstallation = () => {
  const { chosen, available } = instructionSets();
  const { versions, platform, arch } = process;
  return { version, node: versions.node, platform, arch, instructionSet: chosen, instructionSets: available };
};

const asksForShortHelp = (args: readonly string[]): boolean =>
  beforeDashes(args).includes('-h') && !args.includes('--help') && !args.includes('--json');

/** Returns the words for which help is requested: `swap` in `swap --help`, `help swap` and `-h swap`. */
const helpedIn = (args: readonly string[]): readonly string[] | undefined => {
  const words = args.filter((word) => !word.startsWith('-'));
  if (args[0] === 'help') return words.slice(1);
  return beforeDashes(args).some((word) => word === '-h' || word === '--help') ? words : undefined;
};

/** Reads words as other programs do: `-v` alone prints the version, and `swap help` means `help swap`. */
const readAsElsewhere = (given: readonly string[], program: Command): readonly string[] => {
  if (given.join() === '-v') return ['--version'];
  const { command, path } = commandOf(program, given);
  const asksForHelp = path.length > 0 && given.length === path.length + 1 && given.at(-1) === 'help';
  // A model may be named `help`.
  const isAFile = command.registeredArguments.length > 0 && existsSync('help');
  return asksForHelp && !isAFile ? ['help', ...path] : given;
};

const built = new Map<string | undefined, Command>();

/** The program is built once per process; commander resets its state before each parse. */
const builtProgram = (only?: string): Command => {
  const program = built.get(only) ?? buildProgram(only);
  built.set(only, program);
  return program;
};

/** Builds the program with a single command, unless help, errors or completion may name other commands. */
const programFor = ([name = '', ...rest]: readonly string[]): Command =>
  builtProgram(isCommand(name) && name !== 'completion' && helpedIn(rest) === undefined ? name : undefined);

/**
 * A process can run only one command line at a time.
 *
 * @param given words after `layerloom`
 * @param report receives the error that ended the command, and returns the exit code
 * @param reader who reads the messages
 * @returns the exit code
 */
export const runCommandLine = async (
  given: readonly string[],
  report: (error: unknown, args: readonly string[], program: Command) => number = reportError,
  reader: Reader = 'shell',
): Promise<number> => {
  const program = programFor(given);
  const args = readAsElsewhere(given, program);
  forgetPrinted();
  process.exitCode = undefined;
  const spellAsBefore = spellFor(reader);
  try {
    const helped = helpedIn(args);
    const unknown =
      (helped === undefined ? undefined : unknownHelpOf(helped, program)) ??
      (reader === 'shell' ? (undecodedIn(args) ?? wrongDashIn(args, program)) : undefined);
    if (unknown !== undefined) throw unknown;
    if (reader === 'shell' && !isQuiet(args)) misspeltVariables(process.env).forEach(warn);
    if (reader === 'shell' && helped !== undefined && asksForShortHelp(args))
      printText(shortHelp(commandOf(program, helped).command));
    else if (asksForVersionAsJson(args)) printJson(describeInstallation());
    else if (asksForHelpAsJson(args)) printJson({ commands: describeNamed(program, args) });
    else await program.parseAsync(args, { from: 'user' });
    return Number(process.exitCode ?? 0);
  } catch (error) {
    // Commander also throws after printing help or the version.
    if (error instanceof CommanderError && error.exitCode === 0) return 0;
    if (error instanceof CommanderError && error.code === 'commander.help') {
      const command = program.commands.find((known) => known.name() === args[0]);
      const text = shortHelp(command ?? program);
      process.stderr.write(`${process.stderr.isTTY ? text : stripVTControlCharacters(text)}\n`);
      return exitCodes.usage;
    }
    // Builds a new program: parsing again for the message would keep former values.
    return report(error, args, buildProgram());
  } finally {
    spellAsBefore();
  }
};
