import { isSnakeCase, toCamelCase, toSnakeCase } from './case.js';
import { invalid } from './invalid.js';
import type { Mark } from './source.js';
import {
  type Entries,
  type List,
  list,
  type Mapping,
  type MappingEntry,
  mapping,
  type Tree,
} from './tree.js';
import type { Oddity } from './warning.js';

// Readers that both dialects share.

/** The file of a recipe, as far as its dialect needs it. */
export interface Scope {
  /** The folder of the file. */
  readonly folder: string;
  /** Finds a model by its text: relative paths begin in the folder. */
  find(model: string): Promise<string>;
  /** Reads a nested recipe, given in place of a model. */
  nested(recipe: Mapping): Promise<Mapping>;
  /**
   * Reads the recipe that a word refers to in place of a model: another document of the file, or another
   * file.
   *
   * @param folder the folder in which a relative file name begins
   * @returns undefined if the word refers to no recipe, and so is a model
   */
  named(word: string, mark: Mark, folder: string): Promise<Mapping | undefined>;
  /** Notes what is read as mergekit reads it and hardly meant so. */
  warn(oddity: Oddity): void;
}

/** Reads one value of a recipe. */
export type Field = (value: Tree) => Promise<Tree>;

export const isRecipe = ({ entries }: Mapping): boolean =>
  entries.has('method') || entries.has('merge_method');

/** Drops keys whose value is null, which mean the same as no key. */
export const present = (entries: Entries): Entries =>
  new Map([...entries].filter(([, { value }]) => value.kind !== 'leaf' || value.value !== null));

export const expectMapping = (tree: Tree, key: string, expected: string): Mapping => {
  if (tree.kind === 'mapping') return tree;
  throw invalid(tree.mark, { key, reason: 'not a mapping', expected });
};

export const expectList = (tree: Tree, key: string, expected: string): List => {
  if (tree.kind === 'list' && tree.items.length > 0) return tree;
  throw invalid(tree.mark, {
    key,
    reason: tree.kind === 'list' ? 'the list is empty' : 'not a list',
    expected,
  });
};

/** @param place words for the mapping, for the message if it lacks the key */
export const expectKey = ({ entries, mark }: Mapping, key: string, place: string): MappingEntry => {
  const entry = entries.get(key);
  if (entry !== undefined) return entry;
  throw invalid(mark, { reason: `${place} lacks ${key}` });
};

export const notAModel = ({ kind, mark }: Tree): Error =>
  invalid(mark, {
    reason: kind === 'list' ? 'a list, and no model: several stand under models' : 'no model',
    expected: 'a directory, org/name, a file or a recipe',
  });

/** Reads the items of a list in order, not concurrently, so that the first mistake is the one reported. */
export const eachOf =
  (key: string, expected: string, item: Field): Field =>
  async (value) => {
    const { mark, items } = expectList(value, key, expected);
    const read: Tree[] = [];
    for (const each of items) read.push(await item(each));
    return list(mark, read);
  };

/** Reads the values of keys that have a field, and converts the others to plain values. */
export const readFields = async (
  { mark, entries }: Mapping,
  fields: Readonly<Record<string, Field>>,
): Promise<Mapping> => {
  const read = new Map<string, MappingEntry>();
  for (const [key, { key: at, value }] of entries) {
    const field = Object.hasOwn(fields, key) ? fields[key] : undefined;
    read.set(key, { key: at, value: field === undefined ? value : await field(value) });
  }
  return mapping(mark, read);
};

/**
 * Converts keys to camel case. Keys that are not in snake case are refused: otherwise two spellings
 * (`int8-mask`, `int8Mask`) could be the same key.
 *
 * @param place words for the mapping, for messages
 */
export const inCamelCase = (entries: Entries, place: string): Map<string, MappingEntry> =>
  new Map([...entries].map(([key, entry]) => [camelKey(key, entry.key, place), entry]));

const camelKey = (key: string, mark: Mark, place: string): string => {
  if (isSnakeCase(key)) return toCamelCase(key);
  throw invalid(mark, {
    key,
    reason: `unknown key of ${place}`,
    expected: 'a name in snake_case',
    nearest: toSnakeCase(key),
  });
};

/** Reads a range of layers: the first, and the one after the last. */
export const layerRange: Field = async (value) => {
  const [first, end, ...more] = value.kind === 'list' ? value.items.map(wholeNumber) : [];
  if (first !== undefined && end !== undefined && more.length === 0 && first < end) return value;
  throw invalid(value.mark, {
    key: 'layer_range',
    reason: 'no range of layers',
    expected: 'the first layer and the one after the last: [0, 16]',
  });
};

const wholeNumber = (tree: Tree): number | undefined =>
  tree.kind === 'leaf' && Number.isSafeInteger(tree.value) && Number(tree.value) >= 0
    ? Number(tree.value)
    : undefined;
