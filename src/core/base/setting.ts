import * as z from 'zod';

// A block of settings is one zod object, with keys in camel case and words for each. Its TypeScript types, its check,
// its JSON Schema and its table in docs are read from that object.

/** Words of a setting. */
export interface SettingWords {
  /** What it does, in Markdown: its cell of a table in docs, and its description in JSON Schemas. */
  readonly meaning: string;
  /** Ends the sentence "KEY: expected …". Default: what the type says. */
  readonly expected?: string;
  /** Values that are names, for "did you mean". Default: those of the type. */
  readonly names?: readonly string[];
  /** What holds where the key is not given and its type has no default. Default `none`. */
  readonly otherwise?: string;
}

const known = z.registry<SettingWords>();

/** Returns the type of a setting, with its words. */
export const setting = <Value extends z.ZodType>(value: Value, words: SettingWords): Value => {
  known.add(value, words);
  return value;
};

/** Returns the words of a setting; undefined for other types. */
export const wordsOf = (value: z.core.$ZodType): SettingWords | undefined => known.get(value);

/** A value as callers may give it: lists are read-only, and so are the parts of objects. */
export type Given<Value> = Value extends readonly (infer Item)[]
  ? readonly Given<Item>[]
  : Value extends object
    ? { readonly [Key in keyof Value]: Given<Value[Key]> }
    : Value;

type SnakeCase<Key> = Key extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${SnakeCase<Rest>}`
  : Key;

/** A block as files have it, with keys in snake case. */
export type InFile<Block> = { readonly [Key in keyof Block as SnakeCase<Key>]: Block[Key] };
