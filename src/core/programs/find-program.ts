import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { delimiter, isAbsolute, join, resolve } from 'node:path';

/**
 * Finds a program as the shell would; undefined where there is none that may be run.
 *
 * @param name with a slash: the path itself
 * @param path the PATH that other names are looked for on
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
