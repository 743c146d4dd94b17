import { resolve } from 'node:path';
import { Option } from 'commander';
import { shellPath } from '../../core/base/errors/command-line.js';
import { LayerloomError } from '../../core/base/errors/errors.js';
import { alsoAccepted } from '../options/spellings.js';

export interface OptionFacts {
  /** Parses the text of a value. For a repeated option, `previous` is the value so far. */
  readonly parse?: (text: string, previous: never) => unknown;
  /** Default in words; the called function applies it. */
  readonly default?: string;
  /** Accepted values. The called function refuses other values, and names the parameter. */
  readonly choices?: readonly string[];
  /** True if always required; a text names the exception, which the command checks. */
  readonly required?: true | string;
  /** Heading in help; default: the command's own options. */
  readonly group?: string;
  /** The option may be repeated; its value is a list. */
  readonly repeatable?: true;
}

/** A command's option. `run` gets its value in `options`, under the option's key. */
export interface OptionDeclaration<Value = unknown, Always extends boolean = boolean> {
  readonly flags: string;
  readonly words: string;
  readonly facts: OptionFacts;
  /** Types for the compiler only; absent at run time. */
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
 * Declares an option, whose flags determine the type: boolean without a value, text for `<x>`, list for
 * `<x...>`, one of the choices, or the parser's result.
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

/** Returns `model` for `--task <model>` and `<model...>`; empty for flags. */
const placeholderOf = (flags: string): string => /[<[]([^\]>.]+)/.exec(flags)?.[1] ?? '';

/** Placeholders of paths; a model may be a directory or a file. */
export const pathKinds: Readonly<Record<string, 'files' | 'directories'>> = {
  a: 'files',
  adapter: 'files',
  b: 'files',
  base: 'files',
  checkpoint: 'files',
  csv: 'files',
  'csv|dir': 'files',
  dir: 'directories',
  experiment: 'files',
  expert: 'files',
  file: 'files',
  'lang:name=dir': 'directories',
  model: 'files',
  'name=dir': 'directories',
  out: 'directories',
  path: 'files',
  recipe: 'files',
};

export const isPlace = (flags: string): boolean => Object.hasOwn(pathKinds, placeholderOf(flags));

/** Refuses a second path or model, which would otherwise silently replace the first. */
const once =
  (long: string) =>
  (text: string, before?: string): string => {
    if (before !== undefined && resolve(before) !== resolve(text))
      throw new LayerloomError('USAGE', {
        reason: `${long} is given twice, as ${shellPath(before)} and as ${shellPath(text)}; it takes one value`,
      });
    return text;
  };

export class DeclaredOption extends Option {
  readonly key: string;
  readonly facts: OptionFacts;

  constructor(key: string, { flags, words, facts }: OptionDeclaration) {
    super(flags, words);
    this.key = key;
    this.facts = facts;
    const { parse, choices, required, group } = facts;
    // Sets only the words of the default: a value set by commander would override that of a file or function.
    if (facts.default !== undefined) this.default(undefined, facts.default);
    if (parse !== undefined) this.argParser<unknown>(parse as (text: string, previous: unknown) => unknown);
    if (facts.repeatable) this.argParser((text: string, texts: readonly string[] = []) => [...texts, text]);
    const isOne = !facts.repeatable && !flags.includes('...');
    if (isOne && parse === undefined && isPlace(flags)) this.argParser(once(this.long ?? flags));
    // Sets the choices without `Option.choices`, whose refusals do not name the parameter.
    if (choices !== undefined) this.argChoices = [...choices];
    if (required === true) this.makeOptionMandatory();
    if (group !== undefined) this.helpGroup(group);
  }
}

/** Another, hidden spelling of an option. The value is stored as the option's. */
class OtherSpelling extends DeclaredOption {
  readonly #stored: string;

  constructor(shown: DeclaredOption, long: string) {
    const { key, description: words, flags } = shown;
    const { required: _required, ...facts } = shown.facts;
    super(key, { flags: flags.replace(/^.*?--[a-z-]+/, long), words, facts });
    this.#stored = shown.attributeName();
    this.hideHelp();
  }

  override attributeName(): string {
    return this.#stored;
  }
}

export const otherSpellings = (shown: DeclaredOption): DeclaredOption[] =>
  alsoAccepted(shown.long ?? '').map((long) => new OtherSpelling(shown, long));

const factsOf = (option: Option): OptionFacts => (option instanceof DeclaredOption ? option.facts : {});

export const requirementOf = (option: Option): string | undefined => {
  const { required } = factsOf(option);
  if (required === undefined) return undefined;
  return required === true ? 'required' : `required ${required}`;
};

export const isRepeatable = (option: Option): boolean => factsOf(option).repeatable === true;

export const defaultOf = (option: Option): string | undefined => factsOf(option).default;
