import { stat } from 'node:fs/promises';
import { unlessMissing } from './unless-missing.js';

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
