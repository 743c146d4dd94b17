import { valueAt } from '../../../../core/base/errors/lookup.js';
import { expectList } from '../../../../core/methods/recipe/document/fields.js';
import { invalidRecipe } from '../../../../core/methods/recipe/document/invalid.js';
import type { Mark } from '../../../../core/methods/recipe/document/source.js';
import {
  type Entries,
  isText,
  leaf,
  list,
  type MappingEntry,
  type Tree,
} from '../../../../core/methods/recipe/document/tree.js';
import { placeOf } from './names.js';

interface Option {
  readonly label: string;
  readonly mark: Mark;
  readonly entries: readonly (readonly [string, MappingEntry])[];
}

export interface Dimension {
  readonly options: readonly Option[];
}

export interface Configuration {
  /** Label in names, such as `b3-u0-tb0-tu0-uniform`; may be empty. */
  readonly label: string;
  /** Values by camel-case key, with file positions. */
  readonly entries: Entries;
}

/** Parameters that come first in names, in this order; all other parameters follow. */
const first = ['layers', 'bottom', 'top', 'bottomTransition', 'topTransition', 'weights'];

/** Prefixes of numbers in names; default: the parameter's name. */
const letters: Readonly<Record<string, string>> = {
  bottom: 'b',
  top: 'u',
  bottomTransition: 'tb',
  topTransition: 'tu',
  density: 'd',
  t: 't',
  lambda: 'l',
  window: 'last',
};

const words: Readonly<Record<string, string>> = { others: 'o-', norms: 'n-', schedule: '', decay: '' };

/**
 * Returns the dimensions of a grid. A list contains values to try, except that a list of numbers under
 * `weights` or `layers`, or of mappings under `parts`, is one value.
 *
 * @throws RECIPE_INVALID for an empty list, a repeated value, or a value of another type
 */
export const dimensionsOf = (entries: Entries): Dimension[] => {
  const tied = entries.get('layers');
  for (const key of ['bottom', 'top'])
    if (tied !== undefined && entries.has(key))
      throw invalidRecipe(tied.key, {
        key: 'layers',
        reason: `is set together with ${key}`,
        expected: 'one of the two',
      });
  const keys = [...first.filter((key) => entries.has(key)), ...entries.keys()];
  return [...new Set(keys)].map((key) => ({ options: optionsOf(key, valueAt(entries, key)) }));
};

export const sizeOf = (dimensions: readonly Dimension[]): number =>
  dimensions.reduce((size, { options }) => size * options.length, 1);

/** The last dimension varies fastest. */
export const configurationsOf = (dimensions: readonly Dimension[]): Configuration[] => {
  let chosen: (readonly Option[])[] = [[]];
  for (const { options } of dimensions)
    chosen = chosen.flatMap((before) => options.map((option) => [...before, option]));
  const varies = dimensions.map(({ options }) => options.length > 1);
  return chosen.map((options) => ({
    label: options
      .filter((_, index) => varies[index])
      .map(({ label }) => label)
      .join('-'),
    entries: new Map(options.flatMap((option) => option.entries)),
  }));
};

const optionsOf = (key: string, { key: at, value }: MappingEntry): Option[] => {
  const isPair = key === 'weights' || key === 'layers';
  const isParts = key === 'parts' && value.kind === 'list' && value.items.every(isMapping);
  const single = value.kind !== 'list' || isParts || (isPair && value.items.every(isNumber));
  const values = single && !isEmpty(value) ? [value] : expectList(value, key, 'a value or several').items;
  const options = values.map((each) => (key === 'layers' ? layers(at, each) : option(key, at, each)));
  const seen = new Map<string, Mark>();
  for (const { label, mark } of options) {
    const former = seen.get(label);
    if (former !== undefined)
      throw invalidRecipe(mark, {
        key: label,
        reason: `this value of ${key} stands at ${placeOf(former)} already`,
      });
    seen.set(label, mark);
  }
  return options;
};

const isEmpty = (tree: Tree): boolean => tree.kind === 'list' && tree.items.length === 0;

const isMapping = ({ kind }: Tree): boolean => kind === 'mapping';

const isNumber = (tree: Tree): boolean => tree.kind === 'leaf' && typeof tree.value === 'number';

const layers = (key: Mark, pair: Tree): Option => {
  const [bottom, top, more] = pair.kind === 'list' && pair.items.every(isNumber) ? pair.items : [];
  if (bottom === undefined || top === undefined || more !== undefined)
    throw invalidRecipe(pair.mark, {
      key: 'layers',
      reason: 'not a pair of counts',
      expected: '[bottom, top], such as [5, 2], or a list of pairs',
    });
  const parts = [option('bottom', key, bottom), option('top', key, top)];
  return {
    label: parts.map(({ label }) => label).join('-'),
    mark: pair.mark,
    entries: parts.flatMap(({ entries }) => entries),
  };
};

const option = (key: string, at: Mark, given: Tree): Option => {
  const value = key === 'weights' && isText(given) && given.value === 'uniform' ? ones(given.mark) : given;
  return { label: labelOf(key, value), mark: given.mark, entries: [[key, { key: at, value }]] };
};

/** Two equal weights are enough, because every merge has two models or soups. */
const ones = (mark: Mark): Tree => list(mark, [leaf(mark, 1), leaf(mark, 1)]);

const labelOf = (key: string, value: Tree): string => {
  if (key === 'weights' && value.kind === 'list') {
    const numbers = value.items.map((item) => (item.kind === 'leaf' ? String(item.value) : '?'));
    return numbers.join() === '1,1' ? 'uniform' : sound(`w${numbers.join('-')}`);
  }
  if (key === 'parts' && value.kind === 'list') return key;
  if (value.kind !== 'leaf' || value.value === null)
    throw invalidRecipe(value.mark, {
      key,
      reason: value.kind === 'leaf' ? 'it is empty' : `a ${value.kind} where a value is expected`,
      expected: 'one value, or a list of values to try (only recipes can have gradients and filters)',
    });
  if (key === 'weights') return sound(String(value.value));
  const letter = typeof value.value === 'number' ? letters[key] : undefined;
  const text = String(value.value).split('/').at(-1);
  return sound(`${letter ?? words[key] ?? `${kebab(key)}-`}${text}`);
};

const kebab = (key: string): string => key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

/** Replaces characters that a directory name should not have. */
const sound = (label: string): string => label.replace(/[^\p{L}\p{N}._-]+/gu, '_').slice(0, 60);
