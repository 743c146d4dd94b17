import type { Command, Option } from 'commander';
import { groupBy } from '../../core/base/errors/lookup.js';
import { ExampleCommand } from './help.js';
import { defaultOf, isRepeatable, requirementOf } from './option.js';

export interface ArgumentDescription {
  readonly name: string;
  readonly description: string;
  readonly required: boolean;
  readonly variadic: boolean;
  readonly choices: readonly string[];
}

export interface OptionDescription {
  readonly flags: string;
  readonly long: string;
  readonly short?: string;
  readonly description: string;
  readonly value?: ArgumentDescription;
  /** `required`, or `required unless …`; absent if optional. */
  readonly requirement?: string;
  readonly default?: string;
  readonly repeatable: boolean;
}

export interface OptionGroup {
  /** Heading in help, without colon: `Options`, `Output`. */
  readonly title: string;
  readonly options: readonly OptionDescription[];
}

/** Command as data, for references and shell completion. */
export interface CommandDescription {
  /** Words after `layerloom`: `['experiment', 'init']`; empty for the program. */
  readonly path: readonly string[];
  readonly description: string;
  readonly usage: string;
  /** Heading in `layerloom --help`, without colon; absent for the program and subcommands. */
  readonly group?: string;
  readonly arguments: readonly ArgumentDescription[];
  readonly optionGroups: readonly OptionGroup[];
  readonly examples: readonly { readonly command: string; readonly purpose: string }[];
  readonly subcommands: readonly string[];
}

/** Lists commands in the order of help, each before its subcommands, without hidden options. */
export const describeCommands = (program: Command): CommandDescription[] => describe(program, []);

const describe = (command: Command, path: readonly string[]): CommandDescription[] => {
  const help = command.createHelp();
  const title = (heading: string) => heading.replace(/:$/, '');
  const groups = groupBy(help.visibleOptions(command), ({ helpGroupHeading = 'Options:' }) =>
    title(helpGroupHeading),
  );
  const children = command.commands.filter((each) => help.visibleCommands(command).includes(each));
  return [
    {
      path,
      description: command.description(),
      usage: help.commandUsage(command),
      ...(path.length === 1 ? { group: title(command.helpGroup()) } : {}),
      arguments: command.registeredArguments.map((argument) => ({
        name: argument.name(),
        description: argument.description,
        required: argument.required,
        variadic: argument.variadic,
        choices: argument.argChoices ?? [],
      })),
      optionGroups: [...groups].map(([heading, options]) => ({
        title: heading,
        options: options.map(describeOption),
      })),
      examples: (command instanceof ExampleCommand ? command.examples : []).map(([line, purpose]) => ({
        command: line,
        purpose,
      })),
      subcommands: children.map((each) => each.name()),
    },
    ...children.flatMap((each) => describe(each, [...path, each.name()])),
  ];
};

const describeOption = (option: Option): OptionDescription => {
  const { flags, long, short, description } = option;
  if (long === undefined) throw new Error(`${flags} has no long form`);
  const [requirement, preset] = [requirementOf(option), defaultOf(option)];
  const name = /[<[]([^\]>]+?)(?:\.\.\.)?[\]>]/.exec(flags)?.[1];
  return {
    flags,
    long,
    description,
    repeatable: isRepeatable(option),
    ...(short === undefined ? {} : { short }),
    ...(name === undefined
      ? {}
      : {
          value: {
            name,
            description: '',
            required: option.required,
            variadic: option.variadic,
            choices: option.argChoices ?? [],
          },
        }),
    ...(requirement === undefined ? {} : { requirement }),
    ...(preset === undefined ? {} : { default: preset }),
  };
};
