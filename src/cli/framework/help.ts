import { type Argument, Command, type Help, type HelpConfiguration, type Option } from 'commander';
import { wrap } from '../../core/base/wrap.js';
import { columns, stdoutColours } from '../print.js';
import { defaultOf, isRepeatable, requirementOf } from './option.js';

export const commandGroups = {
  merging: 'Merge:',
  looking: 'Look at models:',
  training: 'Train:',
  experiments: 'Run and score experiments:',
  hub: 'Hugging Face hub:',
  installation: 'Installation and help:',
} as const;

export const optionGroups = { output: 'Output:', running: 'Running:', messages: 'Messages:' } as const;

export type Example = readonly [command: string, purpose: string];

export class ExampleCommand extends Command {
  examples: readonly Example[] = [];

  override createCommand(name?: string): ExampleCommand {
    return new ExampleCommand(name);
  }
}

export const addExamples = (
  command: ExampleCommand,
  examples: readonly [Example, Example, ...Example[]],
): void => {
  command.examples = examples;
  command.addHelpText('after', () => describeExamples('Examples:', examples));
};

const describeExamples = (title: string, examples: readonly Example[]): string => {
  const { dim } = stdoutColours();
  const lines = examples.map(([line, purpose]) => {
    const words = wrap(purpose, helpColumns() - 4).map((part) => `  ${dim(`# ${part}`)}`);
    return [...words, `  $ ${wrapCommand(line)}`].join('\n');
  });
  return `\n${styled.title(title)}\n${lines.join('\n')}`;
};

const styled = {
  title: (text: string) => stdoutColours().bold(text),
  term: (text: string) => stdoutColours().cyan(text),
};

/** Maximum width of help; longer lines are hard to read. */
const widest = 100;

const helpColumns = (): number => Math.min(columns() ?? 80, widest);

const wrapCommand = (line: string): string => {
  const [first = '', ...others] = line.split(/ (?=-)/);
  const lines = [first];
  for (const part of others) {
    const joined = `${lines.at(-1)} ${part}`;
    if (joined.length <= helpColumns() - 6) lines[lines.length - 1] = joined;
    else lines.push(`  ${part}`);
  }
  return lines.join(' \\\n    ');
};

export const printsByDefault = 'print';

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

/** Minimum width of a description beside its term. With less room, the description goes below the term. */
const narrowestText = 34;

export const helpLayout: HelpConfiguration = {
  minWidthToWrap: 20,
  prepareContext(this: Help) {
    this.helpWidth = helpColumns();
  },
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
  styleTitle: (text) => styled.title(text),
  styleUsage: (text) => text,
  styleOptionTerm: (text) => styled.term(text),
  styleArgumentTerm: (text) => styled.term(text),
  styleSubcommandTerm: (text) => styled.term(text),
  padWidth: (command, help) => {
    const terms = [
      ...help.visibleOptions(command).map((option) => help.optionTerm(option)),
      ...help.visibleCommands(command).map((each) => help.subcommandTerm(each)),
      ...help.visibleArguments(command).map((argument) => help.argumentTerm(argument)),
    ].map(({ length }) => length);
    return Math.min(widestTerm, Math.max(...terms));
  },
  formatItem: (term, width, description, help) => {
    const isNarrow = helpColumns() - width - 4 < narrowestText;
    const indent = ' '.repeat(isNarrow ? 6 : width + 4);
    const text = help.boxWrap(description, helpColumns() - indent.length);
    const lines = text.split('\n').map((line) => `${indent}${line}`);
    const length = help.displayWidth(term);
    if (isNarrow || length > width) return [`  ${term}`, ...lines].join('\n');
    return `  ${term}${' '.repeat(width - length)}  ${lines.join('\n').trimStart()}`;
  },
};

/** Most options that `-h` shows: required ones, then the command's own in declared order. */
const mostShown = 8;

const shownFirst = (command: Command): readonly Option[] => {
  const options = command.createHelp().visibleOptions(command);
  const rank = (option: Option): number => {
    if (requirementOf(option) !== undefined) return 0;
    if (option.long === '--dry-run') return 1;
    return option.helpGroupHeading === undefined ? 2 : 3;
  };
  const chosen = new Set(options.toSorted((a, b) => rank(a) - rank(b)).slice(0, mostShown));
  return options.filter((option) => chosen.has(option));
};

export const firstClause = (text: string): string => text.replace(/(?: \([^()]*)?[;:] .*$/s, '');

export const shortHelp = (command: Command): string => {
  const help = command.createHelp();
  help.prepareContext({});
  const width = help.padWidth(command, help);
  const item = (term: string, text: string) => help.formatItem(styled.term(term), width, text, help);
  const subcommands = help
    .visibleCommands(command)
    .filter((one) => command.parent !== null || often.includes(one.name()));
  const example = command instanceof ExampleCommand ? command.examples.slice(0, 1) : [];
  const rest = subcommands.length > 0 ? 'All commands' : 'All options';
  return [
    `${styled.title('Usage:')} ${help.commandUsage(command)}`,
    '',
    help.boxWrap(help.commandDescription(command), helpColumns()),
    '',
    ...help.visibleArguments(command).map((one) => item(argumentTerm(one), firstClause(one.description))),
    ...(subcommands.length > 0
      ? subcommands.map((one) => item(help.subcommandTerm(one), firstClause(one.description())))
      : shownFirst(command).map((one) =>
          item(help.optionTerm(one), `${firstClause(one.description)}${notesOf(one)}`),
        )),
    describeExamples('Example:', example),
    '',
    `${rest}: ${wholeName(command)} --help`,
  ].join('\n');
};

const often = ['swap', 'soup', 'merge', 'analyze', 'inspect', 'verify', 'batch', 'evaluate'];

export const argumentTerm = (argument: Pick<Argument, 'required' | 'variadic' | 'name'>): string => {
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
