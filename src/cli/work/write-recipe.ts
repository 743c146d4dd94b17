import { LayerloomError, reasonOf } from '../../core/base/errors.js';
import { writeWhole } from '../../core/engine/output/durable.js';

/**
 * Writes the text of a recipe.
 *
 * @param force replace a file that is there
 * @throws LayerloomError OUTPUT_INVALID where a file is there; WRITE_FAILED
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
