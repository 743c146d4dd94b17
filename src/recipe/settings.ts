import { toCamelCase } from './case.js';
import { expectKey, expectMapping, inCamelCase } from './fields.js';
import { checkKeys, invalid } from './invalid.js';
import {
  type Entries,
  type Leaf,
  type List,
  leaf,
  list,
  type Mapping,
  type MappingEntry,
  mapping,
  type Tree,
} from './tree.js';

type Scalar = boolean | number | string;

/** A value for the tensors whose name contains `filter`, or for all tensors. */
interface Conditional {
  readonly filter?: string;
  readonly value: Scalar | readonly Scalar[];
}

/**
 * A parameter in a recipe: a value, a gradient over the layers, or values with filters, of which the first
 * match applies.
 */
export type MergekitValue = Scalar | readonly Scalar[] | Conditional | readonly Conditional[];

/** Keys beside the parameters in the recipe that this reader returns; no parameter may have these names. */
const reserved = new Set([
  'method',
  'dialect',
  'base',
  'baseModel',
  'models',
  'slices',
  'model',
  'sources',
  'layerRange',
  'name',
  'dtype',
  'outDtype',
  'tokenizerSource',
  'tokenizer',
  'chatTemplate',
]);

/**
 * Reads mergekit's `parameters`. Values are read as YAML 1.1 and mergekit's conversions read them: numbers in
 * quotes are numbers, and a bare `yes` or `off` is true or false.
 *
 * @throws LayerloomError RECIPE_INVALID
 */
export const readParameters = (given: MappingEntry | undefined): Map<string, MappingEntry> => {
  if (given === undefined) return new Map();
  const { entries } = expectMapping(given.value, 'parameters', 'names and values');
  for (const [key, { key: mark }] of entries)
    if (reserved.has(toCamelCase(key)))
      throw invalid(mark, { key, reason: 'unknown key of parameters', expected: `${key} beside parameters` });
  return new Map(
    [...inCamelCase(entries, 'parameters')].map(([name, { key, value }]) => [
      name,
      { key, value: readSetting(value) },
    ]),
  );
};

const readSetting = (tree: Tree): Tree => {
  if (tree.kind === 'mapping') return readConditional(tree);
  return tree.kind === 'list' && tree.items.some(({ kind }) => kind === 'mapping')
    ? list(
        tree.mark,
        tree.items.map((item) => readConditional(expectMapping(item, 'parameters', 'filter and value'))),
      )
    : readValue(tree);
};

/** Reads a filter; `*` matches all tensors, like no filter. */
const readConditional = (tree: Mapping): Mapping => {
  checkKeys(tree.entries, 'the setting', ['filter', 'value']);
  const filter = tree.entries.get('filter');
  const { key, value } = expectKey(tree, 'value', 'the setting');
  const forAll = filter?.value.kind === 'leaf' && (filter.value.value === null || filter.value.value === '*');
  return mapping(
    tree.mark,
    new Map([
      ...(filter === undefined || forAll ? [] : [['filter', filter] as const]),
      ['value', { key, value: readValue(value) }],
    ]),
  );
};

const readValue = (tree: Tree): Tree => {
  if (tree.kind === 'leaf') return readScalar(tree);
  if (tree.kind === 'list' && tree.items.every((item) => item.kind === 'leaf'))
    return list(tree.mark, tree.items.map(readScalar));
  throw invalid(tree.mark, {
    reason: 'no value of a parameter',
    expected: 'a number, a list of numbers, or filter and value',
  });
};

const number = /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i;
const truth = /^(yes|on|Yes|On|YES|ON)$/;
const falsehood = /^(no|off|No|Off|NO|OFF)$/;

const readScalar = (given: Leaf): Leaf => {
  const { value, bare, mark } = given;
  if (typeof value !== 'string') return given;
  if (number.test(value)) return leaf(mark, Number(value));
  if (bare && truth.test(value)) return leaf(mark, true);
  return bare && falsehood.test(value) ? leaf(mark, false) : given;
};

/**
 * Merges the parameters of a scope into those of the enclosing scope. Tensors that match no filter of the
 * inner setting get the value of the enclosing one, as in mergekit.
 */
export const overlay = (inner: Entries, outer: Entries): Map<string, MappingEntry> => {
  const joined = new Map([...outer, ...inner]);
  for (const [name, { key, value }] of inner) {
    const around = outer.get(name);
    if (around !== undefined && isConditional(value))
      joined.set(name, {
        key,
        value: list(value.mark, [...conditionals(value), ...conditionals(around.value)]),
      });
  }
  return joined;
};

const isConditional = (tree: Tree): tree is Mapping | List =>
  tree.kind === 'mapping' || (tree.kind === 'list' && tree.items.every(({ kind }) => kind === 'mapping'));

const conditionals = (tree: Tree): readonly Tree[] => {
  if (tree.kind === 'mapping') return [tree];
  if (isConditional(tree)) return tree.items;
  return [mapping(tree.mark, new Map([['value', { key: tree.mark, value: tree }]]))];
};
