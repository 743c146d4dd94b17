import { existsSync, readdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { nearest } from '../nearest.js';

/**
 * Returns a missing path with its first missing part replaced by the most similar name in that directory.
 * Synchronous, because making messages is.
 *
 * @param spelling as the user wrote the path
 */
export const nearPath = (spelling: string, from = process.cwd()): string | undefined => {
  const path = spelling.replace(/\/+$/, '');
  for (let end = path.length; end > 0; ) {
    const begin = path.lastIndexOf('/', end - 1) + 1;
    const names = namesBeside(resolve(from, path.slice(0, begin)));
    if (names === undefined) {
      end = begin - 1;
      continue;
    }
    const part = path.slice(begin, end);
    const found = part === '' || names.includes(part) ? undefined : nearest(part, names);
    const near = `${path.slice(0, begin)}${found}${path.slice(end)}`;
    return found !== undefined && existsSync(resolve(from, near)) ? near : undefined;
  }
  return undefined;
};

const namesBeside = (directory: string): string[] | undefined => {
  try {
    return readdirSync(directory);
  } catch {
    return undefined;
  }
};

/** Returns `; did you mean ./math?`, or an empty text. */
export const orNearPath = (spelling: string): string => {
  const near = nearPath(spelling);
  return near === undefined ? '' : `; did you mean ${near}?`;
};
