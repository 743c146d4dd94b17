import { statfs } from 'node:fs/promises';
import { LayerloomError } from '../base/errors.js';

/**
 * Checks that a file system has `needed` free bytes. Quotas are not checked; exceeding one is WRITE_FAILED
 * later.
 *
 * @param directory an existing directory of that file system
 * @param out the output, for the error's details
 * @throws LayerloomError DISK_SPACE
 */
export const checkSpace = async (directory: string, out: string, needed: number): Promise<void> => {
  const { bavail, bsize } = await statfs(directory);
  const available = bavail * bsize;
  if (needed > available) throw new LayerloomError('DISK_SPACE', { out, needed, available });
};
