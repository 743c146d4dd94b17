import { renameKeys, toCamelCase } from '../core/methods/recipe/document/case.js';
import type { RecipeInput } from '../core/methods/recipes.js';
import { respell } from '../core/plan/export/own-recipe.js';
import type { MergePlan } from '../core/plan/plan.js';

/**
 * Returns the recipe that reproduces a plan's merge byte for byte, for `merge` and `planMerge`. Models have
 * absolute paths. Weights, thresholds and numbers of layers derived from the models are written as numbers;
 * layout and shard size only if not the defaults.
 *
 * @example await merge(recipeOf(await planMerge('ties.yaml')), { out: './again' })
 */
export const recipeOf = ({ completeRecipe, inputs }: MergePlan): RecipeInput =>
  renameKeys(
    respell(completeRecipe, inputs, ({ path }) => path),
    toCamelCase,
  ) as unknown as RecipeInput;
