import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writing } from '../../base/files/writing.js';

/**
 * Opens an unlinked file, which disappears however the process ends.
 *
 * @throws WRITE_FAILED
 */
export const openScratch = async (): Promise<FileHandle> => {
  const folder = join(tmpdir(), 'layerloom-verify-');
  return await writing(folder, async () => {
    const directory = await mkdtemp(folder);
    try {
      return await open(join(directory, 'tile'), 'wx+');
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  });
};
