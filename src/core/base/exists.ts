import { access, constants, stat } from 'node:fs/promises';
import { isAbsolute, resolve } from 'node:path';
import { isForbidden, unlessMissing } from './unless-missing.js';

/**
 * True if a path leads to a file or a directory. That the system fails to tell is not that there is none: another model
 * than the one that was meant could be read then.
 *
 * @throws LayerloomError READ_FAILED
 */
export const exists = async (path: string): Promise<boolean> =>
  (await unlessMissing(path, stat(path))) !== undefined;

/** @throws LayerloomError READ_FAILED */
export const allExist = async (paths: readonly string[]): Promise<boolean> =>
  (await Promise.all(paths.map(exists))).every(Boolean);

/**
 * `allExist`, and false where this user may not look, for paths that the user has not named: written down by others, or of
 * a cache that is theirs.
 *
 * @throws LayerloomError READ_FAILED
 */
export const allWithinReach = (paths: readonly string[]): Promise<boolean> =>
  allExist(paths).catch((error: unknown) => {
    if (isForbidden(error)) return false;
    throw error;
  });

/**
 * `exists`, of a path that begins in a folder. Nothing is in one that this user may not search, as the working directory of a
 * service may be: no name in it can be meant.
 *
 * @throws LayerloomError READ_FAILED
 */
export const existsIn = async (folder: string, path: string): Promise<boolean> => {
  try {
    return await exists(resolve(folder, path));
  } catch (error) {
    if (isAbsolute(path) || !isForbidden(error) || (await maySearch(folder))) throw error;
    return false;
  }
};

const maySearch = (folder: string): Promise<boolean> =>
  access(folder, constants.X_OK).then(
    () => true,
    () => false,
  );
