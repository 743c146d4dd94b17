import { Argument, type Command } from 'commander';
import { LayerloomError } from '../../core/base/errors/errors.js';
import { tildeIn, unexpandedIn } from '../../core/base/files/tilde.js';
import { orNoDirectories } from '../../core/engine/output/durable.js';
import { type OutputOptions, outputOptions } from '../options/output.js';
import { isForShell } from '../options/spellings.js';
import { swallowedIn } from '../usage-error.js';
import { addExamples, commandGroups, type Example, type ExampleCommand } from './help.js';
import { DeclaredOption, isPlace, type OptionDeclaration, otherSpellings } from './option.js';

export interface ArgumentDeclaration<Value = unknown> {
  readonly flags: string;
  readonly words: string;
  /** Accepted values, for help and completion. The called function checks them. */
  readonly choices: readonly string[];
  /** Argument's type, for the compiler only. */
  readonly given?: { readonly value: Value };
}

type ValueOf<Flags extends string> = Flags extends `${string}...${string}`
  ? readonly string[]
  : Flags extends `[${string}`
    ? string | undefined
    : string;

export const argument = <const Flags extends string>(
  flags: Flags,
  words: string,
  choices: readonly string[] = [],
): ArgumentDeclaration<ValueOf<Flags>> => ({ flags, words, choices });

type Arguments = Readonly<Record<string, ArgumentDeclaration>>;
type Options = Readonly<Record<string, OptionDeclaration>>;

type GivenOf<Declared> = Declared extends { readonly given?: { readonly value: infer Value } }
  ? Value
  : never;
type Always<O extends Options> = {
  [Key in keyof O]: O[Key] extends OptionDeclaration<unknown, infer A>
    ? A extends true
      ? Key
      : never
    : never;
}[keyof O];

/** Values that a command receives; absent if not given. */
export type Given<A extends Arguments, O extends Options> = {
  readonly [Key in keyof A]: GivenOf<A[Key]>;
} & { readonly [Key in Always<O>]: GivenOf<O[Key]> } & {
  readonly [Key in Exclude<keyof O, Always<O>>]?: GivenOf<O[Key]>;
} & OutputOptions;

interface Headline {
  readonly name: string;
  /** Heading in `layerloom --help`; absent for subcommands. */
  readonly group?: keyof typeof commandGroups;
  readonly summary: string;
  readonly examples: readonly [Example, Example, ...Example[]];
}

interface CommandFacts<A extends Arguments, O extends Options> extends Headline {
  readonly arguments?: A;
  /** Options in the order of help; common ones follow. */
  readonly options?: O;
  readonly notes?: (command: Command) => string;
  /** Imports the command's work on demand, so that help and other commands start fast. */
  readonly run: (given: Given<A, O>, program: Command) => Promise<void>;
}

export interface CommandDeclaration {
  readonly addTo: (parent: ExampleCommand) => void;
}

const addHeadline = (parent: ExampleCommand, { name, group, summary }: Headline): ExampleCommand => {
  const command = parent.command(name).description(summary).helpCommand(false);
  return group === undefined ? command : command.helpGroup(commandGroups[group]);
};

const programOf = (command: Command): Command =>
  command.parent === null ? command : programOf(command.parent);

const textsIn = (value: unknown): string[] => {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : [];
};

/**
 * Refuses paths with `~` or `$HOME` that the shell did not expand. Also refuses empty paths: they come from
 * unset variables, and would mean the working directory.
 */
const checkPlaces = (name: string, flags: string, value: unknown): void => {
  for (const text of textsIn(value)) {
    const unexpanded = (isPlace(flags) ? unexpandedIn : tildeIn)(text, isForShell() ? ' by your shell' : '');
    if (unexpanded !== undefined)
      throw new LayerloomError('USAGE', { reason: `${name} ${text}: ${unexpanded}` });
    const short = /^-\w(?=, )/.exec(flags)?.[0];
    if (text.startsWith('=') && short !== undefined && isPlace(flags))
      throw new LayerloomError('USAGE', {
        reason: `${short}${text}: write ${short} ${text.slice(1)}, or ${name}${text}`,
      });
    if (text.trim() === '' && isPlace(flags))
      throw new LayerloomError('USAGE', {
        reason: `${name} is empty${isForShell() ? '; is a variable of your shell not set?' : ''}`,
      });
  }
};

/**
 * Declares a command. Help, completion, the reference and the mapping to parameters follow from its options.
 */
export const command = <
  const A extends Arguments = Record<never, never>,
  const O extends Options = Record<never, never>,
>(
  facts: CommandFacts<A, O>,
): CommandDeclaration => ({
  addTo: (parent) => {
    const command = addHeadline(parent, facts);
    const declared = Object.entries(facts.arguments ?? {});
    for (const [, { flags, words, choices }] of declared) {
      const added = new Argument(flags, words);
      if (choices.length > 0) added.argChoices = [...choices];
      command.addArgument(added);
    }
    const options = Object.entries({ ...facts.options, ...outputOptions }).map(
      ([key, one]) => new DeclaredOption(key, one),
    );
    for (const one of [...options, ...options.flatMap(otherSpellings)]) command.addOption(one);
    const { notes } = facts;
    if (notes !== undefined) command.addHelpText('after', () => notes(command));
    addExamples(command, facts.examples);
    command.action(async (...words: readonly unknown[]) => {
      const texts = declared.map(([key], index) => [key, words[index]] as const);
      const given = options
        .map((one) => [one.key, command.getOptionValue(one.attributeName())] as const)
        .filter(([, value]) => value !== undefined);
      const swallowed = swallowedIn(command);
      if (swallowed !== undefined) throw swallowed;
      for (const [index, [key, { flags }]] of declared.entries()) checkPlaces(key, flags, words[index]);
      for (const one of options)
        checkPlaces(one.long ?? one.key, one.flags, command.getOptionValue(one.attributeName()));
      // The value's type is checked by the declarations that parsed it.
      const values = Object.fromEntries([...texts, ...given]) as Given<A, O>;
      await orNoDirectories(() => facts.run(values, programOf(command)));
    });
  },
});

export const commandOfCommands = (
  facts: Headline & { readonly commands: readonly CommandDeclaration[] },
): CommandDeclaration => ({
  addTo: (parent) => {
    const command = addHeadline(parent, facts);
    for (const one of facts.commands) one.addTo(command);
    addExamples(command, facts.examples);
  },
});
