import { LayerloomError, reasonOf } from '../../../base/errors/errors.js';
import { itemAt } from '../../../base/errors/lookup.js';
import { objectPlaces } from '../../../texts/edit-json.js';
import { keyOf, parseJson } from '../../../texts/json.js';
import { readSideFile } from './small-file.js';

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** False for absent or null, which mean the same in recipes. */
export const isGiven = (value: unknown): boolean => value !== undefined && value !== null;

/** Reads the object in a side file written by Python. @throws READ_FAILED, CONFIG_INVALID */
export const readJsonObject = async (file: string): Promise<Record<string, unknown>> =>
  parseJsonObject(await readSideFile(file), file);

/**
 * Parses an object written by Python.
 *
 * @throws CONFIG_INVALID naming the file
 */
export const parseJsonObject = (
  source: string | Uint8Array,
  file: string,
  mostValues?: number,
): Record<string, unknown> => {
  let value: unknown;
  try {
    value = parseJson(source, { python: true, mostValues });
  } catch (cause) {
    throw new LayerloomError(
      'CONFIG_INVALID',
      { file, reason: `${reasonOf(cause)}; download or write it again` },
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

/** Returns an object's entries under `key` in text order; JavaScript would move integer keys to the front. */
export const entriesInOrder = (
  text: string,
  value: Readonly<Record<string, unknown>>,
  key: string,
): [string, unknown][] => {
  const found = value[key];
  const entries = Object.entries(found ?? {});
  if (!isObject(found) || !entries.some(([name]) => /^\d+$/.test(name))) return entries;
  const { properties } = objectPlaces(text, new Set([key])).inner.get(key) ?? { properties: [] };
  return Array.from({ length: properties.length / 4 }, (_, index) => {
    const name = keyOf(text, itemAt(properties, 4 * index), itemAt(properties, 4 * index + 1));
    return [name, found[name]];
  });
};
