import { lstat, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { LayerloomError } from '../../../../base/errors/errors.js';
import { foreignBelow } from '../../../../base/files/own-directory.js';

const commitFolder = /^(?<cache>.*)\/[a-z]+--[^/]+\/[0-9a-f]{40}(?=\/|$)/s;

/**
 * Returns why nothing may be removed in a directory of the cache of ranges: a directory on its path, within
 * the cache, is a link or another user's.
 *
 * @param directory a commit's folder, or a directory inside
 */
export const foreignRangeFolder = (directory: string): string | undefined => {
  const cache = commitFolder.exec(directory)?.groups?.['cache'];
  return cache === undefined ? `${directory} is in no cache of ranges` : foreignBelow(cache, directory);
};

/**
 * Removes a file of the cache of ranges, if it exists.
 *
 * @throws WRITE_FAILED if nothing may be removed there
 */
export const removeRangeFile = async (file: string): Promise<void> => {
  if ((await lstat(file).catch(() => undefined)) === undefined) return;
  const reason = foreignRangeFolder(dirname(file));
  if (reason !== undefined) throw new LayerloomError('WRITE_FAILED', { file, reason });
  await rm(file, { force: true });
};
