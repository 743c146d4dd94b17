import { isCount } from '../../../base/is-count.js';
import { nearest } from '../../../base/nearest.js';
import { isSnakeCase, toCamelCase, toSnakeCase } from './case.js';
import { invalidRecipe } from './invalid.js';
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

/** Functions for a dialect's reader, and the folder of relative paths. */
export interface Scope {
  readonly folder: string;
  /** Finds a model; relative paths start in the file's folder. */
  find(model: string): Promise<string>;
  nested(recipe: Mapping): Promise<Mapping>;
  /**
   * Reads the recipe that a word names: another document in the file, or another file.
   *
   * @returns undefined if the word is a model
   */
  named(word: string, mark: Mark, folder: string): Promise<Mapping | undefined>;
  /** Warns of input that is accepted but probably unintended. */
  warn(oddity: Oddity): void;
}

export type Field = (value: Tree) => Promise<Tree>;

export const isRecipe = ({ entries }: Mapping): boolean =>
  entries.has('method') || entries.has('merge_method');

/** Drops null values, which count as absent. */
export const present = (entries: Entries): Entries =>
  new Map([...entries].filter(([, { value }]) => value.kind !== 'leaf' || value.value !== null));

export const expectMapping = (tree: Tree, key: string, expected: string): Mapping => {
  if (tree.kind === 'mapping') return tree;
  throw invalidRecipe(tree.mark, { key, reason: 'not a mapping', expected });
};

export const expectList = (tree: Tree, key: string, expected: string): List => {
  if (tree.kind === 'list' && tree.items.length > 0) return tree;
  throw invalidRecipe(tree.mark, {
    key,
    reason: tree.kind === 'list' ? 'the list is empty' : 'not a list',
    expected,
  });
};

export const expectKey = ({ entries, mark }: Mapping, key: string, place: string): MappingEntry => {
  const entry = entries.get(key);
  if (entry !== undefined) return entry;
  const near = nearest(key, entries.keys());
  throw invalidRecipe(mark, {
    reason: `${place} lacks ${key}${near === undefined ? '' : `; is ${near} meant so?`}`,
  });
};

export const notAModel = ({ kind, mark }: Tree): Error =>
  invalidRecipe(mark, {
    reason: kind === 'list' ? 'a list, and no model: several stand under models' : 'no model',
    expected: 'a directory, org/name, a file or a recipe',
  });

/** Reads items in turn, so that the first mistake is reported. */
export const eachOf =
  (key: string, expected: string, item: Field): Field =>
  async (value) => {
    const { mark, items } = expectList(value, key, expected);
    const read: Tree[] = [];
    for (const each of items) read.push(await item(each));
    return list(mark, read);
  };

export const readEntry = async (
  entry: MappingEntry | undefined,
  field: Field,
): Promise<MappingEntry | undefined> => entry && { key: entry.key, value: await field(entry.value) };

export const renamed = (
  entries: Entries,
  names: Readonly<Record<string, string>>,
): [string, MappingEntry][] =>
  Object.entries(names).flatMap(([key, name]) => {
    const entry = entries.get(key);
    return entry === undefined ? [] : [[name, entry]];
  });

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

/** Converts keys from snake case. Refuses other spellings: `int8-mask` could equal `int8Mask`. */
export const inCamelCase = (entries: Entries, place: string): Map<string, MappingEntry> =>
  new Map([...entries].map(([key, entry]) => [camelKey(key, entry.key, place), entry]));

const camelKey = (key: string, mark: Mark, place: string): string => {
  if (isSnakeCase(key)) return toCamelCase(key);
  throw invalidRecipe(mark, {
    key,
    reason: `unknown key of ${place}`,
    expected: 'a name in snake_case',
    nearest: toSnakeCase(key),
  });
};

/** The first layer, and the layer after the last. */
export const layerRange: Field = async (value) => {
  const [first, end, ...more] = value.kind === 'list' ? value.items.map(wholeNumber) : [];
  if (first !== undefined && end !== undefined && more.length === 0 && first < end) return value;
  throw invalidRecipe(value.mark, {
    key: 'layer_range',
    reason: 'no range of layers',
    expected: 'the first layer and the one after the last: [0, 16]',
  });
};

const wholeNumber = (tree: Tree): number | undefined =>
  tree.kind === 'leaf' && isCount(tree.value) ? tree.value : undefined;
