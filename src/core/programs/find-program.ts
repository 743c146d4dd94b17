import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { delimiter, isAbsolute, join, resolve } from 'node:path';

/**
 * Searches like a shell.
 *
 * @param name if it has a slash, a path itself
 * @param path the PATH to search for other names
 */
export const findProgram = async (name: string, path: string): Promise<string | undefined> => {
  const places = name.includes('/')
    ? [isAbsolute(name) ? name : resolve(name)]
    : path.split(delimiter).map((folder) => join(folder === '' ? '.' : folder, name));
  for (const place of places) {
    const isThere = await access(place, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (isThere) return place;
  }
  return undefined;
};
