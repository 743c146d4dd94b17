import * as z from 'zod';

// A block of settings is one zod object with camel-case keys and words for each. It yields the TypeScript
// types, the check, the JSON Schema and the table in docs.

export interface SettingWords {
  /** Meaning in Markdown: the cell in docs and the description in JSON Schemas. */
  readonly meaning: string;
  /** Ends the sentence "KEY: expected …". Default: derived from the type. */
  readonly expected?: string;
  /** Valid names, for "did you mean". Default: those of the type. */
  readonly names?: readonly string[];
  /** The value if the key is not given and its type has no default. Default `none`. */
  readonly otherwise?: string;
}

const known = z.registry<SettingWords>();

/** Attaches words to the type of a setting and returns the type. */
export const setting = <Value extends z.ZodType>(value: Value, words: SettingWords): Value => {
  known.add(value, words);
  return value;
};

/** Returns the words of a setting; undefined for other types. */
export const wordsOf = (value: z.core.$ZodType): SettingWords | undefined => known.get(value);

/** A value as callers may give it: lists and objects are read-only, at any depth. */
export type Given<Value> = Value extends readonly (infer Item)[]
  ? readonly Given<Item>[]
  : Value extends object
    ? { readonly [Key in keyof Value]: Given<Value[Key]> }
    : Value;

type SnakeCase<Key> = Key extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${SnakeCase<Rest>}`
  : Key;

/** A block as files spell it, with keys in snake case. */
export type InFile<Block> = { readonly [Key in keyof Block as SnakeCase<Key>]: Block[Key] };
