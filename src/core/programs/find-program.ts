import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { delimiter, isAbsolute, join, resolve } from 'node:path';

/**
 * Returns a program's path, found as a shell finds it.
 *
 * @param name a path if it has a slash
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
