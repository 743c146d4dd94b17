import { nearest } from '../../base/nearest.js';
import type { ParameterFacts } from '../framework/declaration/parameter-facts.js';
import type { ParameterSpec } from '../framework/declaration/settings.js';
import { snakeCase } from '../framework/tensors/tensor-method.js';
import { isSnakeCase, toCamelCase } from './document/case.js';
import { expectKey, expectMapping, inCamelCase } from './document/fields.js';
import { invalidRecipe } from './document/invalid.js';
import type { Mark } from './document/source.js';
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
} from './document/tree.js';
import { type Oddity, warnOfUnknown } from './document/warning.js';

type Scalar = boolean | number | string;

/** A value for tensors whose names contain `filter`; without a filter, for all. */
interface Conditional {
  readonly filter?: string;
  readonly value: Scalar | readonly Scalar[];
}

/** A parameter in mergekit: the first matching filter applies; a list is a gradient over layers. */
export type MergekitValue = Scalar | readonly Scalar[] | Conditional | readonly Conditional[];

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
  'stack',
]);

/** The valid parameters of a place, and a warning for invalid ones. */
export interface ParameterPlace {
  readonly method: string;
  /** Valid parameters by camel-case name; undefined if the method checks them itself. */
  readonly known: ReadonlyMap<string, ParameterFacts> | undefined;
  readonly ofModel: boolean;
  readonly warn: (oddity: Oddity) => void;
}

/**
 * Reads parameters like YAML 1.1 and mergekit: quoted numbers are numbers; bare `yes` and `off` are booleans,
 * as are 1 and 0 for boolean parameters. Warns of unknown parameters.
 *
 * @throws RECIPE_INVALID
 */
export const readParameters = (
  given: MappingEntry | undefined,
  place: ParameterPlace,
): Map<string, MappingEntry> => {
  if (given === undefined) return new Map();
  const { entries } = expectMapping(given.value, 'parameters', 'names and values');
  if (place.known === undefined) return unchecked(entries, place);
  const read = new Map<string, MappingEntry>();
  for (const [key, { key: mark, value }] of entries) {
    const name = isSnakeCase(key) ? toCamelCase(key) : key;
    const facts = place.known.get(name);
    if (facts === undefined || (place.ofModel && !facts.perModel)) {
      // mergekit also checks the structure of ignored values.
      readSetting(value, { warn: () => undefined });
      place.warn(unusedParameter(key, mark, place, facts !== undefined));
    } else
      read.set(name, { key: mark, value: readSetting(value, { warn: place.warn, spec: facts.spec, name }) });
  }
  return read;
};

const unchecked = (entries: Entries, { warn }: ParameterPlace): Map<string, MappingEntry> => {
  for (const [key, { key: mark }] of entries)
    if (reserved.has(toCamelCase(key)))
      throw invalidRecipe(mark, {
        key,
        reason: 'unknown key of parameters',
        expected: `${key} beside parameters`,
      });
  return new Map(
    [...inCamelCase(entries, 'parameters')].map(([name, { key, value }]) => [
      name,
      { key, value: readSetting(value, { warn }) },
    ]),
  );
};

const unusedParameter = (
  key: string,
  mark: Mark,
  { method, known = new Map() }: ParameterPlace,
  isShared: boolean,
): Oddity => {
  if (isShared)
    return {
      key,
      mark,
      reason: 'a parameter of the whole merge, not of one model',
      expected: 'it under the parameters of the recipe',
    };
  const reason = `${method} has no such parameter`;
  if (reserved.has(toCamelCase(key)) || key === 'base_model')
    return { key, mark, reason, expected: `${key} beside parameters` };
  return { key, mark, reason, nearest: nearest(key, [...known.keys()].map(snakeCase)) };
};

interface SettingPlace {
  readonly warn: (oddity: Oddity) => void;
  readonly spec?: ParameterSpec;
  readonly name?: string;
}

const readSetting = (tree: Tree, place: SettingPlace): Tree => {
  if (tree.kind === 'mapping') return readConditional(tree, place);
  return tree.kind === 'list' && tree.items.some(({ kind }) => kind === 'mapping')
    ? list(
        tree.mark,
        tree.items.map((item) =>
          readConditional(expectMapping(item, 'parameters', 'filter and value'), place),
        ),
      )
    : readValue(tree, place);
};

/** Reads a value with a filter; `*` or none matches all tensors. */
const readConditional = (tree: Mapping, place: SettingPlace): Mapping => {
  warnOfUnknown(tree, 'the setting', ['filter', 'value'], place.warn);
  const filter = tree.entries.get('filter');
  const { key, value } = expectKey(tree, 'value', 'the setting');
  const forAll = filter?.value.kind === 'leaf' && (filter.value.value === null || filter.value.value === '*');
  return mapping(
    tree.mark,
    new Map([
      ...(filter === undefined || forAll ? [] : [['filter', filter] as const]),
      ['value', { key, value: readValue(value, place) }],
    ]),
  );
};

const readValue = (tree: Tree, { spec, warn, name }: SettingPlace): Tree => {
  if (tree.kind === 'leaf' && tree.value !== null) return atMost(readScalar(tree, spec), spec, warn, name);
  if (tree.kind === 'list' && tree.items.every((item) => item.kind === 'leaf'))
    return list(
      tree.mark,
      tree.items.map((item) => readScalar(item, spec)),
    );
  throw invalidRecipe(tree.mark, {
    reason: 'no value of a parameter',
    expected: 'a number, a list of numbers, or filter and value',
  });
};

/** Lowers values above a limit to it, with a warning: a density of 1.5 drops nothing. */
const atMost = (
  read: Leaf,
  { json: { maximum } = {} }: Partial<ParameterSpec> = {},
  warn: SettingPlace['warn'],
  name?: string,
): Leaf => {
  const { value, mark } = read;
  if (typeof value !== 'number' || typeof maximum !== 'number' || !(value > maximum)) return read;
  const key = name === undefined ? String(value) : `${name} ${value}`;
  warn({ mark, key, reason: `more than ${maximum}`, effect: `read as ${maximum}` });
  return leaf(mark, maximum);
};

/** Matches Python's numbers, with single underscores between digits, of limited length. */
const number = /^(?=.{1,100}$)\s*[-+]?(\d(_?\d)*\.?(\d(_?\d)*)?|\.\d(_?\d)*)(e[-+]?\d+)?\s*$/is;
const truth = /^(yes|on|Yes|On|YES|ON)$/;
const falsehood = /^(no|off|No|Off|NO|OFF)$/;

const readScalar = (given: Leaf, spec: ParameterSpec | undefined): Leaf => {
  const { value, bare, mark } = given;
  const read =
    typeof value !== 'string'
      ? value
      : number.test(value)
        ? Number(value.replaceAll('_', ''))
        : bare && truth.test(value)
          ? true
          : bare && falsehood.test(value)
            ? false
            : value;
  const converted = spec === undefined ? read : convert(read, spec);
  return converted === value ? given : leaf(mark, converted);
};

const convert = (value: Leaf['value'], { json = {} }: ParameterSpec): Leaf['value'] => {
  const { type, enum: values } = json as { type?: string; enum?: readonly unknown[] };
  const isFlag = type === 'boolean' || values?.includes(true) === true;
  if (isFlag && (value === 1 || value === 0)) return value === 1;
  if (isFlag && typeof value === 'string') {
    if (/^(t|true|y|yes|on)$/i.test(value)) return true;
    if (/^(f|false|n|no|off)$/i.test(value)) return false;
  }
  return type === 'number' && typeof value === 'boolean' ? Number(value) : value;
};

/** Combines parameters: if no filter of the inner parameter matches, the outer parameter applies. */
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
