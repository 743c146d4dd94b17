import { access, constants, stat } from 'node:fs/promises';
import { isAbsolute, resolve } from 'node:path';
import { isForbidden, unlessMissing } from './unless-missing.js';

/**
 * Throws if the system cannot tell: with `false`, a caller could open another model.
 *
 * @throws READ_FAILED
 */
export const exists = async (path: string): Promise<boolean> =>
  (await unlessMissing(path, stat(path))) !== undefined;

export const allExist = async (paths: readonly string[]): Promise<boolean> =>
  (await Promise.all(paths.map(exists))).every(Boolean);

/** Like `allExist`, but false if permission is missing; for paths that the user did not name. */
export const allWithinReach = (paths: readonly string[]): Promise<boolean> =>
  allExist(paths).catch((error: unknown) => {
    if (isForbidden(error)) return false;
    throw error;
  });

/**
 * Like `exists`, for a path in a folder. False if the user may not search the folder, such as a service's
 * working directory: the user cannot mean a path in it.
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
