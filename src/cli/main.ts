#!/usr/bin/env node
import { inspect } from 'node:util';
import { type Command, CommanderError } from 'commander';
import { exitCodes, LayerloomError } from '../errors.js';
import { instructionSets } from '../native/addon.js';
import { version } from '../version.js';
import { note, printJson, printLine } from './print.js';
import { buildProgram } from './program.js';

/**
 * Prints an error as one message; with --json also as an object on stdout, with -v its stack. Returns the
 * exit code.
 */
const report = (error: unknown, args: readonly string[], program: Command): number => {
  const known = asLayerloomError(error, args, program);
  const message = known?.message ?? (error instanceof Error ? error.message : String(error));
  note(`error: ${message}`);
  if (args.includes('-v') || args.includes('--verbose')) note(inspect(error));
  if (args.includes('--json')) {
    const value = { error: known ?? { code: 'INTERNAL', message, details: {} } };
    // A batch prints JSON lines.
    if (args[0] === 'batch') printLine(JSON.stringify(value));
    else printJson(value);
  }
  return known?.exitCode ?? exitCodes.failed;
};

const asLayerloomError = (
  error: unknown,
  args: readonly string[],
  program: Command,
): LayerloomError | undefined => {
  if (error instanceof LayerloomError) {
    const option = optionOf(error, args, program);
    return option === undefined ? error : error.with({ option });
  }
  if (error instanceof CommanderError)
    return new LayerloomError('USAGE', { reason: error.message.replace(/^error: /, '') });
  return undefined;
};

/** Returns the option that an error's parameter was given by; undefined if it is one of a file. */
const optionOf = (
  { code, details, context }: LayerloomError,
  args: readonly string[],
  program: Command,
): string | undefined => {
  if (code !== 'INVALID_PARAMETER' || context.place !== undefined || !('parameter' in details))
    return undefined;
  const command = program.commands.find((known) => known.name() === args[0]);
  const inner = command?.commands.find((known) => known.name() === args[1]) ?? command;
  const name = details.parameter.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
  const found = inner?.options.find(
    (option) => option.attributeName() === name || (name === 'language' && option.long === '--lang'),
  );
  return found?.long;
};

// A closed pipe (`| head`) is no error. Any other failed write is, although the merge itself may be complete.
for (const stream of [process.stdout, process.stderr])
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') return;
    process.stderr.write(`error: the output cannot be written: ${error.message}\n`);
    process.exit(exitCodes.failed);
  });

/** True for `layerloom --version --json`, which prints the version and the platform. */
const asksForVersionAsJson = (args: readonly string[]): boolean =>
  args.length === 2 && args.includes('--json') && (args.includes('--version') || args.includes('-V'));

const describeInstallation = () => {
  const { chosen, available } = instructionSets();
  const { versions, platform, arch } = process;
  return { version, node: versions.node, platform, arch, instructionSet: chosen, instructionSets: available };
};

const run = async (): Promise<number> => {
  const args = process.argv.slice(2);
  const program = buildProgram();
  try {
    if (asksForVersionAsJson(args)) printJson(describeInstallation());
    else await program.parseAsync(process.argv);
    // `diff --exit-code` sets it.
    return Number(process.exitCode ?? 0);
  } catch (error) {
    // Commander also throws after printing help or the version.
    if (error instanceof CommanderError && error.exitCode === 0) return 0;
    if (error instanceof CommanderError && error.code === 'commander.help') {
      const command = program.commands.find((known) => known.name() === args[0]);
      process.stderr.write((command ?? program).helpInformation());
      return exitCodes.usage;
    }
    return report(error, args, program);
  }
};

process.exitCode = await run();
