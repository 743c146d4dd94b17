import { Option } from 'commander';

/** Facts of an option beside its flags and its words. */
export interface OptionFacts {
  /** Converts the text that was given; `previous` is the value so far of an option given more than once. */
  readonly parse?: (text: string, previous: never) => unknown;
  /** The value without the option, in words: the called function supplies it. */
  readonly default?: string;
  /** The values that the called function accepts. It refuses others with the parameter's name. */
  readonly choices?: readonly string[];
  /** True: always. Text: always but where it says, which the command checks. */
  readonly required?: true | string;
  /** The heading in help; none: the command's own options. */
  readonly group?: string;
  /** True for an option that may be given more than once; its value is the list of what was given. */
  readonly repeatable?: true;
  /** True for an option that help does not show. */
  readonly hidden?: true;
}

/** An option as it is declared. A command has it under the name of the parameter that its value is of. */
export interface OptionDeclaration<Value = unknown, Always extends boolean = boolean> {
  /** As help shows it: `-o, --out <dir>`. */
  readonly flags: string;
  readonly words: string;
  readonly facts: OptionFacts;
  /** For the compiler alone: what a command is given for the option. Nothing has it at run time. */
  readonly given?: { readonly value: Value; readonly always: Always };
}

type OneOrSeveral<Flags, One> = Flags extends `${string}...>` ? readonly One[] : One;

type ValueOf<Flags extends string, Facts extends OptionFacts> = Facts extends {
  readonly parse: (text: string, previous: never) => infer Value;
}
  ? Value
  : Facts extends { readonly repeatable: true }
    ? readonly string[]
    : Facts extends { readonly choices: readonly (infer Choice)[] }
      ? OneOrSeveral<Flags, Choice>
      : Flags extends `${string}<${string}`
        ? OneOrSeveral<Flags, string>
        : boolean;

/**
 * Declares an option. What a command is given for it has the type that flags and facts say: a flag is a boolean,
 * `<x>` a text, `<x...>` several, choices one of them, and a parsed value what its parser returns.
 */
export const option = <const Flags extends string, const Facts extends OptionFacts = Record<never, never>>(
  flags: Flags,
  words: string,
  facts?: Facts,
): OptionDeclaration<ValueOf<Flags, Facts>, Facts extends { readonly required: true } ? true : false> => ({
  flags,
  words,
  facts: facts ?? {},
});

/** Commander's form of a declared option. */
export class DeclaredOption extends Option {
  /** The parameter that its value is of. */
  readonly key: string;
  readonly facts: OptionFacts;

  constructor(key: string, { flags, words, facts }: OptionDeclaration) {
    super(flags, words);
    this.key = key;
    this.facts = facts;
    const { parse, choices, required, group, hidden } = facts;
    // A default that is only words: commander must not set a value, since that of a file or a function holds.
    if (facts.default !== undefined) this.default(undefined, facts.default);
    if (parse !== undefined) this.argParser<unknown>(parse as (text: string, previous: unknown) => unknown);
    if (facts.repeatable) this.argParser((text: string, texts: readonly string[] = []) => [...texts, text]);
    // `Option.choices` would refuse other values itself, without the parameter's name.
    if (choices !== undefined) this.argChoices = [...choices];
    if (required === true) this.makeOptionMandatory();
    if (group !== undefined) this.helpGroup(group);
    if (hidden) this.hideHelp();
  }
}

const factsOf = (option: Option): OptionFacts => (option instanceof DeclaredOption ? option.facts : {});

/** Returns `required`, `required unless …`, or undefined for an option that may be left out. */
export const requirementOf = (option: Option): string | undefined => {
  const { required } = factsOf(option);
  if (required === undefined) return undefined;
  return required === true ? 'required' : `required ${required}`;
};

/** True if an option may be given more than once. */
export const isRepeatable = (option: Option): boolean => factsOf(option).repeatable === true;

/** Returns the default of an option as help shows it; undefined where there is none. */
export const defaultOf = (option: Option): string | undefined => factsOf(option).default;
