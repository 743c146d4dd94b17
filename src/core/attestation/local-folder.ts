import { realpath, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { LayerloomError } from '../base/errors/errors.js';
import { reading } from '../base/files/writing.js';

/**
 * Returns the real path of a model's folder.
 *
 * @throws NOT_A_CHECKPOINT, READ_FAILED
 */
export const localFolder = async (out: string): Promise<string> => {
  const path = await reading(resolve(out), () => realpath(out));
  if (!(await stat(path)).isDirectory())
    throw new LayerloomError('NOT_A_CHECKPOINT', {
      path,
      reason: 'is a file; give the directory of a model',
    });
  return path;
};
