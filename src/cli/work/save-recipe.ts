import { dirname, resolve } from 'node:path';
import { LayerloomError, reasonOf } from '../../core/base/errors.js';
import { writeWhole } from '../../core/engine/output/durable.js';
import { recipeText } from '../../core/plan/export/own-recipe.js';
import type { MergePlan } from '../../core/plan/plan.js';

/**
 * Writes the recipe that reproduces a plan's merge, with paths relative to the file's folder.
 *
 * @param force replace an existing file
 * @throws LayerloomError OUTPUT_INVALID if the file exists; WRITE_FAILED
 */
export const saveRecipe = async (plan: MergePlan, file: string, force: boolean): Promise<void> => {
  const text = recipeText(plan, dirname(resolve(file)));
  await writeWhole(file, text, !force).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code === 'EEXIST')
      throw new LayerloomError(
        'OUTPUT_INVALID',
        { out: file, reason: 'exists; name another file for --save-recipe, or --force to replace it' },
        { cause },
      );
    throw new LayerloomError('WRITE_FAILED', { file, reason: reasonOf(cause) }, { cause });
  });
};
