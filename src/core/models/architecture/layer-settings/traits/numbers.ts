import { isGiven } from '../../../checkpoint/files/json.js';
import type { Described, Saying } from './saying.js';
import { meaningOf, saysTheSame } from './saying.js';

/**
 * Reads and writes settings given by whole numbers: a period, an offset or a count.
 *
 * @param keys keys with loaders' defaults; undefined if the key is required
 * @param meaning returns a layer's value
 * @param guesses returns numbers that may describe the values
 */
const numbers = (
  keys: Readonly<Record<string, number | undefined>>,
  meaning: (layer: number, layers: number, ...given: number[]) => unknown,
  guesses: (values: readonly unknown[]) => readonly (readonly number[])[],
): Saying => {
  const names = Object.keys(keys);
  const givenIn = ({ section }: Described) => names.map((name) => section[name] ?? keys[name]);
  const say = (layers: number, given: readonly number[]) =>
    Array.from({ length: layers }, (_, layer) => meaning(layer, layers, ...given));
  const areNumbers = (given: readonly unknown[]): given is number[] => given.every(Number.isInteger);
  return {
    keys: names,
    read: (described) => {
      const given = givenIn(described);
      return areNumbers(given) ? say(described.layers, given) : undefined;
    },
    write: (values, described) => {
      const given = givenIn(described);
      const tried = [...(areNumbers(given) ? [given] : []), ...guesses(values.map(meaningOf))];
      const found = tried.find((one) => saysTheSame(say(values.length, one), values));
      if (found === undefined) return undefined;
      const changed = names.flatMap((name, index) =>
        isGiven(described.section[name]) && described.section[name] === found[index]
          ? []
          : [[name, found[index]] as const],
      );
      const isDefault = changed.every(
        ([name, value]) => !isGiven(described.section[name]) && value === keys[name],
      );
      return isDefault ? {} : Object.fromEntries(changed);
    },
  };
};

type Pair = readonly [usual: unknown, other: unknown];

const positions = (values: readonly unknown[], wanted: unknown): number[] =>
  values.flatMap((value, layer) => (value === wanted ? [layer] : []));

/** Layers from this index on have the second value: `first_k_dense_replace`. */
export const from = (key: string, otherwise: number | undefined, [before, after]: Pair): Saying =>
  numbers(
    { [key]: otherwise },
    (layer, _layers, first) => (layer >= (first ?? 0) ? after : before),
    (values) => [[positions(values, after)[0] ?? values.length]],
  );

/** This number of last layers have the second value: `num_kv_shared_layers`. */
export const last = (key: string, otherwise: number | undefined, [before, after]: Pair): Saying =>
  numbers(
    { [key]: otherwise },
    (layer, layers, count = 0) =>
      count > layers ? `${count} layers` : layer >= layers - count ? after : before,
    (values) => [[values.length - (positions(values, after)[0] ?? values.length)]],
  );

/** The last layer of each period has the second value: `sliding_window_pattern`. */
export const lastOfEach = (key: string, otherwise: number | undefined, [usual, other]: Pair): Saying =>
  numbers(
    { [key]: otherwise },
    (layer, _layers, period = 0) => (period > 0 && (layer + 1) % period === 0 ? other : usual),
    (values) => [[(positions(values, other)[0] ?? values.length) + 1]],
  );

/** The first layer of each period has the second value: `global_attn_every_n_layers`. */
export const firstOfEach = (key: string, otherwise: number | undefined, [usual, other]: Pair): Saying =>
  numbers(
    { [key]: otherwise },
    (layer, _layers, period = 0) => (period > 0 && layer % period === 0 ? other : usual),
    (values) => [[positions(values, other)[1] ?? values.length]],
  );

/** The layer at index `offset` of every `period` layers has the second value. */
export const oneOfEach = (
  keys: { readonly period: readonly [string, number]; readonly offset: readonly [string, number] },
  [usual, other]: Pair,
): Saying =>
  numbers(
    Object.fromEntries([keys.period, keys.offset]),
    (layer, _layers, period = 0, offset = 0) => (period > 0 && layer % period === offset ? other : usual),
    (values) => {
      const [first = values.length, second] = positions(values, other);
      return [[second === undefined ? Math.max(values.length, first + 1) : second - first, first]];
    },
  );

/** Within a range, the last layer of each period has the second value, as in Ernie 4.5's mixtures. */
export const range = (
  keys: { readonly first: string; readonly last: string; readonly period: string },
  otherwise: readonly [number, number, number],
  [usual, other]: Pair,
): Saying =>
  numbers(
    { [keys.first]: otherwise[0], [keys.last]: otherwise[1], [keys.period]: otherwise[2] },
    // An end of −1 means the last layer.
    (layer, layers, first = 0, end = -1, period = 1) =>
      period > 0 && (layer + 1) % period === 0 && layer >= first && layer <= (end === -1 ? layers - 1 : end)
        ? other
        : usual,
    (values) => {
      const found = positions(values, other);
      const [first = values.length, second = first + 1] = found;
      return [[first, found.at(-1) ?? values.length, second - first]];
    },
  );

/** A setting that no key can change: loaders derive it from the layer's index and the section. */
export const rule = (
  meaning: (layer: number, layers: number, described: Described) => unknown,
  keys: readonly string[] = [],
): Saying => {
  const say = (described: Described, layers: number) =>
    Array.from({ length: layers }, (_, layer) => meaning(layer, layers, described));
  return {
    keys,
    read: (described) => say(described, described.layers),
    write: (values, described) =>
      saysTheSame(say({ ...described, layers: values.length }, values.length), values) ? {} : undefined,
  };
};
