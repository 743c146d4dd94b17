import type { Command, Option } from 'commander';
import { groupBy } from '../../core/base/errors/lookup.js';
import { ExampleCommand } from './help.js';
import { defaultOf, isRepeatable, requirementOf } from './option.js';

export interface ArgumentDescription {
  /** The placeholder in help: `model`, `dir`, `n`. */
  readonly name: string;
  readonly description: string;
  readonly required: boolean;
  readonly variadic: boolean;
  readonly choices: readonly string[];
}

export interface OptionDescription {
  /** `-o, --out <dir>` */
  readonly flags: string;
  /** `--out` */
  readonly long: string;
  /** `-o` */
  readonly short?: string;
  readonly description: string;
  /** The value that the option takes; absent for flags. */
  readonly value?: ArgumentDescription;
  /** `required`, or `required unless …`; absent for an optional option. */
  readonly requirement?: string;
  readonly default?: string;
  readonly repeatable: boolean;
}

export interface OptionGroup {
  /** The heading in help, without its colon: `Options`, `Output`. */
  readonly title: string;
  readonly options: readonly OptionDescription[];
}

/** A command as plain data, for references and shell completion. */
export interface CommandDescription {
  /** The words after `layerloom`: `['experiment', 'init']`; empty for the program. */
  readonly path: readonly string[];
  readonly description: string;
  /** The usage line, such as `layerloom swap --task <model> --lang <model> [options]`. */
  readonly usage: string;
  /** The heading in `layerloom --help`, without its colon; absent for the program and for subcommands. */
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
