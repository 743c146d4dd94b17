import { codeOf, LayerloomError } from '../../../core/base/errors/errors.js';
import { writeWhole } from '../../../core/engine/output/durable.js';

/** @throws OUTPUT_INVALID if the file exists; WRITE_FAILED */
export const writeRecipe = (file: string, text: string, force: boolean, option = '-o'): Promise<void> =>
  writeWhole(file, text, !force).catch((error: Error) => {
    if (codeOf(error.cause) !== 'EEXIST') throw error;
    const reason = `exists; name another file for ${option}, or --force to replace it`;
    throw new LayerloomError('OUTPUT_INVALID', { out: file, reason }, { cause: error });
  });
