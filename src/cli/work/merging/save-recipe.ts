import { dirname, resolve } from 'node:path';
import { recipeText } from '../../../core/plan/export/own-recipe.js';
import type { MergePlan } from '../../../core/plan/plan.js';
import { writeRecipe } from './write-recipe.js';

/**
 * Saves the recipe of a plan, with paths relative to the file's folder.
 *
 * @throws OUTPUT_INVALID if the file exists; WRITE_FAILED
 */
export const saveRecipe = (plan: MergePlan, file: string, force: boolean): Promise<void> =>
  writeRecipe(file, recipeText(plan, dirname(resolve(file))), force, '--save-recipe');
