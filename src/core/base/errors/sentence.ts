import { counted } from '../format.js';
import { gigabytes } from './gigabytes.js';

// An error's message is a sentence with gaps that its details fill.

export const exitCodes = { failed: 1, usage: 2, input: 3, partial: 4, interrupted: 130 } as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

export interface Sentence<Details> {
  readonly exitCode: ExitCode;
  readonly message: (details: Details) => string;
}

/** A gap in a sentence: the name of a text detail, or a function of the details. */
type Gap = string | ((details: never) => string);

type Takes<G> = G extends string
  ? (details: { [Name in G]: string }) => void
  : G extends (details: infer Details) => string
    ? (details: Details) => void
    : never;

type DetailsOf<Gaps extends readonly Gap[]> =
  Takes<Gaps[number]> extends (details: infer Details) => void
    ? { [Name in keyof Details]: Details[Name] }
    : never;

const sentence =
  (exitCode: ExitCode) =>
  <const Gaps extends readonly Gap[]>(
    texts: TemplateStringsArray,
    ...gaps: Gaps
  ): Sentence<DetailsOf<Gaps>> => ({
    exitCode,
    message: (details) =>
      texts.reduce((message, text, index) => {
        const gap = gaps[index - 1] as string | ((known: typeof details) => string);
        const filled =
          typeof gap === 'function' ? gap(details) : String(details[gap as keyof typeof details]);
        return message + filled + text;
      }),
  });

export const failed = sentence(exitCodes.failed);
export const usage = sentence(exitCodes.usage);
export const input = sentence(exitCodes.input);
export const partial = sentence(exitCodes.partial);
export const interrupted = sentence(exitCodes.interrupted);

export const some = (names: readonly string[], shown = 5): string =>
  names.slice(0, shown).join(', ') + (names.length > shown ? `, … (${names.length} in all)` : '');

/** Declares details that only programs read: the message does not show them. */
export const also =
  <Details>() =>
  (_details: Details): string =>
    '';

/** Writes a number, with or without a unit: `2`; `2 layers`. */
export const number =
  <Name extends string>(name: Name, unit?: string) =>
  (details: { [N in Name]: number }): string =>
    unit === undefined ? String(details[name]) : counted(details[name], unit);

export const size =
  <Name extends string>(name: Name) =>
  (details: { [N in Name]: number }): string =>
    gigabytes(details[name]);

export const list =
  <Name extends string>(name: Name, shown?: number) =>
  (details: { [N in Name]: readonly string[] }): string =>
    some(details[name], shown);

export const joined =
  <Name extends string>(name: Name, between: string) =>
  (details: { [N in Name]: readonly string[] }): string =>
    details[name].join(between);

export const length =
  <Name extends string>(name: Name, item?: string) =>
  (details: { [N in Name]: readonly unknown[] }): string =>
    item === undefined ? String(details[name].length) : counted(details[name].length, item);

export const each =
  <Name extends string, Item>(name: Name, words: (item: Item) => string, shown?: number) =>
  (details: { [N in Name]: readonly Item[] }): string =>
    some(details[name].map(words), shown);

type Failure<Key extends string> = { readonly [K in Key]: string } & { readonly message: string };

/** Lists failures by cause: the names of all that failed for this cause, then its message once. */
export const byCause =
  <Name extends string, Key extends string>(name: Name, key: Key, shown = 3) =>
  (details: { [N in Name]: readonly Failure<Key>[] }): string => {
    const causes = new Map<string, { readonly names: string[]; readonly message: string }>();
    for (const failure of details[name]) {
      const { message, [key]: own } = failure;
      const cause = message.replaceAll(own, '').replaceAll(/\S+\.log\b/g, '');
      const known = causes.get(cause);
      if (known === undefined) causes.set(cause, { names: [own], message });
      else known.names.push(own);
    }
    return some(
      [...causes.values()].map(({ names: [first = '', ...others], message }) =>
        others.length === 0 && message.includes(` ${first} `)
          ? message
          : `${some([first, ...others], shown)}: ${message}`,
      ),
      shown,
    );
  };

export const quoted =
  <Name extends string>(name: Name) =>
  (details: { [N in Name]: string }): string =>
    JSON.stringify(details[name]);

/** Formats an optional detail; without it, the text is empty. */
export const maybe =
  <Name extends string, Value = string>(name: Name, words: (value: Value) => string) =>
  (details: { [N in Name]?: Value | undefined }): string => {
    const value: Value | undefined = details[name];
    return value === undefined ? '' : words(value);
  };

export const or =
  <Name extends string>(name: Name, usual: string | (() => string)) =>
  (details: { [N in Name]?: string | undefined }): string =>
    details[name] ?? (typeof usual === 'function' ? usual() : usual);
