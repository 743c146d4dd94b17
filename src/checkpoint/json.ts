import { visit } from 'jsonc-parser';
import { parse as parseYaml } from 'yaml';
import { LayerloomError } from '../base/errors.js';
import { valueAt } from '../base/lookup.js';
import { readSideFile } from './small-file.js';

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** False for a key that is absent or null, which mean the same in recipes. */
export const isGiven = (value: unknown): boolean => value !== undefined && value !== null;

/** Returns what a text is as JSON; undefined, which is of no schema, where it is none: the caller says what it was. */
export const jsonOrNone = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

/**
 * Parses the JSON that Python writes, which may hold `NaN` and `Infinity`; YAML reads them (as strings), and
 * is a superset of JSON otherwise. For looking at values, never for writing them back. Throws where the text
 * is neither.
 */
export const parsePythonJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (/\b(NaN|Infinity)\b/.test(text)) return parseYaml(text);
    throw error;
  }
};

/** The object in a side file that Python wrote. @throws LayerloomError READ_FAILED, CONFIG_INVALID */
export const readJsonObject = async (file: string): Promise<Record<string, unknown>> =>
  parseJsonObject((await readSideFile(file)).toString(), file);

/** The object of a text that Python wrote. @throws LayerloomError CONFIG_INVALID, which names the file */
export const parseJsonObject = (text: string, file: string): Record<string, unknown> => {
  let value: unknown;
  try {
    value = parsePythonJson(text);
  } catch (cause) {
    throw new LayerloomError(
      'CONFIG_INVALID',
      { file, reason: 'is not JSON; download or write it again' },
      { cause },
    );
  }
  if (!isObject(value))
    throw new LayerloomError('CONFIG_INVALID', {
      file,
      reason: 'is not a JSON object; download or write it again',
    });
  return value;
};

/**
 * Returns the entries of the object under one key of a JSON object, in the order of the text, as Python has them: JavaScript
 * puts keys that are whole numbers before the others.
 *
 * @param value the text's object, as parsed
 * @param file for errors
 * @throws LayerloomError CONFIG_INVALID where the order cannot be told
 */
export const entriesInOrder = (
  text: string,
  value: Readonly<Record<string, unknown>>,
  key: string,
  file: string,
): [string, unknown][] => {
  const entries = Object.entries(value[key] ?? {});
  if (entries.length < 2 || !entries.some(([name]) => /^\d+$/.test(name))) return entries;
  const places = new Map(keysUnder(text, key).map((name, place) => [name, place]));
  if (places.size !== entries.length || !entries.every(([name]) => places.has(name)))
    throw new LayerloomError('CONFIG_INVALID', {
      file,
      reason: `has keys in \`${key}\` that are numbers, and is not plain JSON; write it again`,
    });
  return entries.sort(([a], [b]) => valueAt(places, a) - valueAt(places, b));
};

/** The keys of the object under a key of a JSON object, each once; where that key stands twice, of the last. */
const keysUnder = (text: string, key: string): string[] => {
  let keys = new Set<string>();
  visit(text, {
    onObjectProperty: (name, _offset, _length, _line, _column, pathOf) => {
      const path = pathOf();
      if (path.length === 0 && name === key) keys = new Set();
      if (path.length === 1 && path[0] === key) keys.add(name);
    },
  });
  return [...keys];
};

/** Faults that `JSON.parse` accepts and the format does not. */
export interface Laxity {
  /** The path of the first key that stands twice in one object. */
  readonly duplicate?: readonly string[];
  /** The path of the first number among the values of `integers` that is not spelt as one (`2.0`, `2e0`). */
  readonly notInteger?: readonly string[];
}

/** @param integers the keys, at any depth, whose lists must hold integers */
export const findLaxity = (text: string, integers: readonly string[]): Laxity => {
  let duplicate: readonly string[] | undefined;
  let notInteger: readonly string[] | undefined;
  const open: Set<string>[] = [];
  visit(text, {
    onObjectBegin: () => {
      open.push(new Set());
    },
    onObjectEnd: () => {
      open.pop();
    },
    onObjectProperty: (key, _offset, _length, _line, _column, pathOf) => {
      const keys = open.at(-1);
      if (keys?.has(key)) duplicate ??= [...pathOf().map(String), key];
      keys?.add(key);
    },
    onLiteralValue: (value, offset, length, _line, _column, pathOf) => {
      if (typeof value !== 'number' || /^(0|[1-9]\d*)$/.test(text.slice(offset, offset + length))) return;
      const path = pathOf().map(String);
      if (integers.includes(path.at(-2) ?? '')) notInteger ??= path;
    },
  });
  return {
    ...(duplicate === undefined ? {} : { duplicate }),
    ...(notInteger === undefined ? {} : { notInteger }),
  };
};
