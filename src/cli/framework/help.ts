import { Command, type HelpConfiguration, type Option } from 'commander';
import { defaultOf, isRepeatable, requirementOf } from './option.js';

/** The groups of commands that `layerloom --help` shows, in this order. */
export const commandGroups = {
  merging: 'Merge:',
  looking: 'Look at models:',
  training: 'Train:',
  experiments: 'Run and score experiments:',
  hub: 'Hugging Face hub:',
  installation: 'Installation and help:',
} as const;

/** The groups of options that the help of a command shows, after those of its own. */
export const optionGroups = {
  output: 'Output:',
  running: 'Running:',
  messages: 'Messages:',
} as const;

/** A command line as a user would type it, and in a few words its purpose. */
export type Example = readonly [command: string, purpose: string];

/** A command that keeps its examples, for help and for descriptions. */
export class ExampleCommand extends Command {
  examples: readonly Example[] = [];

  override createCommand(name?: string): ExampleCommand {
    return new ExampleCommand(name);
  }
}

/** Ends a command's help with examples. Each command has at least two (test/cli/help.test.ts). */
export const addExamples = (
  command: ExampleCommand,
  examples: readonly [Example, Example, ...Example[]],
): void => {
  command.examples = examples;
  const lines = examples.map(([line, purpose]) => `  # ${purpose}\n  $ ${wrapCommand(line)}`);
  command.addHelpText('after', `\nExamples:\n${lines.join('\n')}`);
};

/** The width of help where the output is no terminal. */
const plainWidth = 80;

/** Breaks a command line before options, as a shell reads it, so that no line is wider than `plainWidth`. */
const wrapCommand = (line: string): string => {
  const [first = '', ...others] = line.split(/ (?=-)/);
  const lines = [first];
  for (const part of others) {
    const joined = `${lines.at(-1)} ${part}`;
    // Four columns before a line, two for the backslash that ends it.
    if (joined.length <= plainWidth - 6) lines[lines.length - 1] = joined;
    else lines.push(`  ${part}`);
  }
  return lines.join(' \\\n    ');
};

/** Default of `--out` of commands that print without it. */
export const printsByDefault = 'print';

/** Returns a command's name behind those of the commands it belongs to: `layerloom experiment init`. */
export const wholeName = (command: Command): string =>
  command.parent === null ? command.name() : `${wholeName(command.parent)} ${command.name()}`;

const notesOf = (option: Option): string => {
  const preset = defaultOf(option);
  const notes = [
    requirementOf(option),
    isRepeatable(option) ? 'may be given more than once' : undefined,
    option.argChoices === undefined ? undefined : option.argChoices.join(' | '),
    preset === undefined ? undefined : `default: ${preset}`,
  ].filter((note) => note !== undefined);
  return notes.length === 0 ? '' : ` (${notes.join('; ')})`;
};

/** Terms wider than this stand on a line of their own, above their descriptions. */
const widestTerm = 26;

/** The layout of help: it wraps at the width of the terminal, 80 columns where the output is none. */
export const helpLayout: HelpConfiguration = {
  optionDescription: (option) => `${option.description}${notesOf(option)}`,
  subcommandTerm: (command) => [command.name(), ...command.registeredArguments.map(argumentTerm)].join(' '),
  argumentTerm: (argument) => argumentTerm(argument),
  argumentDescription: ({ description, argChoices }) =>
    argChoices === undefined ? description : `${description} (${argChoices.join(' | ')})`,
  commandUsage: (command) => {
    const required = command.options.filter(({ mandatory }) => mandatory);
    const flags = required.map(({ flags }) => flags.replace(/^-\w, /, ''));
    return [wholeName(command), ...flags, command.usage()].join(' ');
  },
  padWidth: (command, help) => {
    const terms = [
      ...help.visibleOptions(command).map((option) => help.optionTerm(option)),
      ...help.visibleCommands(command).map((each) => help.subcommandTerm(each)),
      ...help.visibleArguments(command).map((argument) => help.argumentTerm(argument)),
    ].map(({ length }) => length);
    return Math.min(widestTerm, Math.max(...terms));
  },
  formatItem: (term, width, description, help) => {
    const indent = ' '.repeat(width + 4);
    const text = help.boxWrap(description, (help.helpWidth ?? plainWidth) - indent.length);
    const lines = text.split('\n').map((line) => `${indent}${line}`);
    if (term.length > width) return [`  ${term}`, ...lines].join('\n');
    return `  ${term.padEnd(width)}  ${lines.join('\n').trimStart()}`;
  },
};

const argumentTerm = (argument: { name(): string; required: boolean; variadic: boolean }): string => {
  const name = `${argument.name()}${argument.variadic ? '...' : ''}`;
  return argument.required ? `<${name}>` : `[${name}]`;
};

/** A list in help, laid out like its options: terms with their descriptions. */
export const helpList = (
  command: Command,
  title: string,
  items: readonly (readonly [term: string, description: string])[],
): string => {
  const help = command.createHelp();
  help.prepareContext({});
  const width = Math.max(...items.map(([term]) => term.length));
  return ['', title, ...items.map(([term, text]) => help.formatItem(term, width, text, help))].join('\n');
};
