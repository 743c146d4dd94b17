import { short } from '../../../checkpoint/containers/short-name.js';
import { isGiven, isObject } from '../../../checkpoint/files/json.js';

/** The part of a `config.json` that describes a stack: all of it, or its `text_config`. */
export type Section = Readonly<Record<string, unknown>>;

/** New values of a section's keys; undefined removes a key. */
export type Edits = Readonly<Record<string, unknown>>;

export interface Described {
  readonly section: Section;
  readonly layers: number;
  readonly root: Section;
}

/** An encoding: one way in which a configuration gives each layer's setting. */
export interface Saying {
  /** Configuration keys that it uses; empty if loaders derive the value. */
  readonly keys: readonly string[];
  /**
   * Returns each layer's value; undefined if the section does not use this encoding.
   *
   * @throws Unsaid if the section contradicts itself
   */
  read(described: Described): readonly unknown[] | undefined;
  /** Returns changes that encode each layer's value; undefined if this encoding cannot. */
  write(values: readonly unknown[], described: Described): Edits | undefined;
}

/** Maximum characters of a reason, because reasons quote configurations. */
const longest = 400;

/** A key cannot describe the layers. */
export class Unsaid extends Error {
  readonly key: string;
  readonly reason: string;
  model = 0;

  constructor(key: string, reason: string) {
    super(`${short(key)} ${reason}`);
    this.key = short(key);
    this.reason = reason.length > longest ? `${reason.slice(0, longest)}…` : reason;
  }
}

/** Words from before transformers 5.13, which still reads them. */
const formerWords: Readonly<Record<string, string>> = {
  mamba: 'linear_attention',
  attention: 'full_attention',
  deepseek_sparse_attention: 'indexed_attention',
  qwen_sparse_attention: 'indexed_attention',
};

export const meaningOf = (value: unknown): unknown =>
  typeof value === 'string' && Object.hasOwn(formerWords, value) ? formerWords[value] : value;

export const saysTheSame = (a: readonly unknown[], b: readonly unknown[]): boolean =>
  a.length === b.length &&
  a.every((value, index) => JSON.stringify(meaningOf(value)) === JSON.stringify(meaningOf(b[index])));

type Words = Readonly<Record<string, unknown>>;

const wordOf = (words: Words, value: unknown): unknown =>
  typeof value !== 'object' && Object.hasOwn(words, String(value)) ? words[String(value)] : value;

const backWords = (words: Words): ReadonlyMap<unknown, string> =>
  new Map(Object.entries(words).map(([word, meaning]) => [meaning, word]));

/**
 * A list with an entry per layer; an empty list counts as absent.
 *
 * @param words maps whole numbers in the list to values
 * @param more `drafts` if further entries, which loaders ignore, may belong to multi-token prediction
 */
export const list = (key: string, words: Words = {}, more: 'drafts' | 'none' = 'none'): Saying => {
  const back = backWords(words);
  return {
    keys: [key],
    read: ({ section, layers }) => {
      const value = section[key];
      if (!Array.isArray(value) || value.length === 0) return undefined;
      if (value.length < layers || (value.length > layers && more === 'none'))
        throw new Unsaid(key, `has ${value.length} entries, and the model has ${layers} layers`);
      return (value as unknown[]).slice(0, layers).map((entry) => wordOf(words, entry));
    },
    write: (values) =>
      values.every(isGiven)
        ? {
            [key]: values.map((value) => {
              const word = back.get(value);
              return word === undefined ? value : Number(word);
            }),
          }
        : undefined,
  };
};

export const listOrOne = (key: string): Saying => {
  const listed = list(key);
  const isOne = (section: Section) => isGiven(section[key]) && !Array.isArray(section[key]);
  return {
    ...listed,
    read: (described) => {
      const { section, layers } = described;
      return isOne(section) ? Array.from({ length: layers }, () => section[key]) : listed.read(described);
    },
    write: (values, described) =>
      isOne(described.section) && values.every((value) => value === described.section[key])
        ? {}
        : listed.write(values, described),
  };
};

/** A dictionary of exceptions by layer number: `{"05": {…}}`. */
export const byNumber = (key: string): Saying => ({
  keys: [key],
  read: ({ section, layers }) => {
    const value = section[key];
    if (!isObject(value)) return undefined;
    const entries = new Map(Object.entries(value).map(([layer, entry]) => [Number(layer), entry]));
    for (const layer of entries.keys())
      if (!(Number.isInteger(layer) && layer >= 0 && layer < layers))
        throw new Unsaid(key, `has an entry for a layer that the model, which has ${layers}, does not have`);
    return Array.from({ length: layers }, (_, layer) => entries.get(layer) ?? {});
  },
  write: (values) => ({
    [key]: Object.fromEntries(
      values.flatMap((value, layer) => (JSON.stringify(value) === '{}' ? [] : [[String(layer), value]])),
    ),
  }),
});

/** The value of layers that are not listed, and the value of listed layers. */
type Pair = readonly [unknown, unknown];

const isLayerList = (value: unknown): value is number[] =>
  Array.isArray(value) && value.every((entry) => Number.isInteger(entry));

/**
 * A list of the layers with the second value.
 *
 * @param first number of the first layer
 */
export const indices = (key: string, [left, listed]: Pair, first = 0): Saying => ({
  keys: [key],
  read: ({ section, layers }) => {
    const value = section[key];
    if (!isLayerList(value)) return undefined;
    const named = new Set(value);
    return Array.from({ length: layers }, (_, layer) => (named.has(layer + first) ? listed : left));
  },
  write: (values) => {
    const said = values.map(meaningOf);
    return said.every((value) => value === left || value === listed)
      ? { [key]: said.flatMap((value, layer) => (value === listed ? [layer + first] : [])) }
      : undefined;
  },
});

export const letters = (key: string, words: Readonly<Record<string, string>>): Saying => {
  const back = backWords(words);
  return {
    keys: [key],
    read: ({ section, layers }) => {
      const value = section[key];
      if (typeof value !== 'string' || value === '') return undefined;
      if (value.length !== layers)
        throw new Unsaid(key, `has ${value.length} letters, and the model has ${layers} layers`);
      return Array.from(value, (letter) => wordOf(words, letter));
    },
    write: (values) => {
      const found = values.map((value) => back.get(meaningOf(value)));
      return found.includes(undefined) ? undefined : { [key]: found.join('') };
    },
  };
};

/** A list that loaders repeat until each layer has an entry. */
export const cycle = (key: string, otherwise: readonly string[]): Saying => ({
  keys: [key],
  read: ({ section, layers }) => {
    const value = section[key] ?? otherwise;
    if (!Array.isArray(value) || value.length === 0) return undefined;
    return Array.from({ length: layers }, (_, layer) => value[layer % value.length] as unknown);
  },
  write: (values) => ({ [key]: [...values] }),
});

/** Lists with numbers of repetitions: GPT-Neo's `[[["global", "local"], 12]]`. */
export const repeats = (key: string): Saying => ({
  keys: [key],
  read: ({ section, layers }) => {
    const value = section[key];
    if (!Array.isArray(value)) return undefined;
    const said: unknown[] = [];
    for (const part of value as unknown[]) {
      const [words, times] = Array.isArray(part) ? (part as unknown[]) : [];
      if (!Array.isArray(words) || typeof times !== 'number' || !(words.length * times <= layers))
        throw new Unsaid(key, `does not say ${layers} layers`);
      for (let time = 0; time < times; time += 1) said.push(...(words as unknown[]));
    }
    if (said.length !== layers)
      throw new Unsaid(key, `says ${said.length} layers, and the model has ${layers}`);
    return said;
  },
  write: (values) => ({ [key]: [[[...values], 1]] }),
});
