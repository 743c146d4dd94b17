import * as z from 'zod';

// A block of settings is a zod object with camel-case keys and `SettingWords`. Types, checks, JSON Schemas
// and tables in the docs derive from it.

export interface SettingWords {
  /** Markdown for the docs and JSON Schemas. */
  readonly meaning: string;
  /** The end of "KEY: expected …"; default: derived from the type. */
  readonly expected?: string;
  /** Valid names, for "did you mean"; default: derived from the type. */
  readonly names?: readonly string[];
  /** The effect of leaving out a key that has no default; default `none`. */
  readonly otherwise?: string;
}

const known = z.registry<SettingWords>();

export const setting = <Value extends z.ZodType>(value: Value, words: SettingWords): Value => {
  known.add(value, words);
  return value;
};

export const wordsOf = (value: z.core.$ZodType): SettingWords | undefined => known.get(value);

/** A value with read-only lists and objects at any depth. */
export type Given<Value> = Value extends readonly (infer Item)[]
  ? readonly Given<Item>[]
  : Value extends object
    ? { readonly [Key in keyof Value]: Given<Value[Key]> }
    : Value;

type SnakeCase<Key> = Key extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${SnakeCase<Rest>}`
  : Key;

/** A block with keys in snake case. */
export type InFile<Block> = { readonly [Key in keyof Block as SnakeCase<Key>]: Block[Key] };
