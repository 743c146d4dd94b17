import { LayerloomError, reasonOf } from '../../core/base/errors.js';
import { writeWhole } from '../../core/engine/output/durable.js';

/**
 * @param force replace an existing file
 * @throws LayerloomError OUTPUT_INVALID if the file exists; WRITE_FAILED
 */
export const writeRecipe = (file: string, text: string, force: boolean): Promise<void> =>
  writeWhole(file, text, !force).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code === 'EEXIST')
      throw new LayerloomError('OUTPUT_INVALID', {
        out: file,
        reason: 'exists; name another file for -o, or --force to replace it',
      });
    throw new LayerloomError('WRITE_FAILED', { file, reason: reasonOf(cause) }, { cause });
  });
