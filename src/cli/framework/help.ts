import { Command, type HelpConfiguration, type Option } from 'commander';
import { defaultOf, isRepeatable, requirementOf } from './option.js';

export const commandGroups = {
  merging: 'Merge:',
  looking: 'Look at models:',
  training: 'Train:',
  experiments: 'Run and score experiments:',
  hub: 'Hugging Face hub:',
  installation: 'Installation and help:',
} as const;

export const optionGroups = {
  output: 'Output:',
  running: 'Running:',
  messages: 'Messages:',
} as const;

export type Example = readonly [command: string, purpose: string];

export class ExampleCommand extends Command {
  examples: readonly Example[] = [];

  override createCommand(name?: string): ExampleCommand {
    return new ExampleCommand(name);
  }
}

/** Each command has at least two examples (test/cli/help.test.ts). */
export const addExamples = (
  command: ExampleCommand,
  examples: readonly [Example, Example, ...Example[]],
): void => {
  command.examples = examples;
  const lines = examples.map(([line, purpose]) => `  # ${purpose}\n  $ ${wrapCommand(line)}`);
  command.addHelpText('after', `\nExamples:\n${lines.join('\n')}`);
};

const plainWidth = 80;

/** Breaks a command line before options, with backslashes. */
const wrapCommand = (line: string): string => {
  const [first = '', ...others] = line.split(/ (?=-)/);
  const lines = [first];
  for (const part of others) {
    const joined = `${lines.at(-1)} ${part}`;
    // Four columns of indentation, two for the backslash at the end.
    if (joined.length <= plainWidth - 6) lines[lines.length - 1] = joined;
    else lines.push(`  ${part}`);
  }
  return lines.join(' \\\n    ');
};

export const printsByDefault = 'print';

/** `layerloom experiment init` */
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

const widestTerm = 26;

/** Wraps help at the terminal's width, or at 80 columns. */
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
