import { toCamelCase } from '../core/methods/recipe/case.js';
import type { RecipeInput } from '../core/methods/recipes.js';
import { isObject } from '../core/models/checkpoint/json.js';
import { respell } from '../core/plan/export/own-recipe.js';
import type { MergePlan } from '../core/plan/plan.js';

/**
 * Returns the recipe that reproduces a plan's merge byte for byte, for `merge` and `planMerge`. Models have
 * absolute paths. Weights, thresholds and numbers of layers that the plan derived from the models are written
 * as numbers; layout and shard size only if they are not the defaults.
 *
 * @example await merge(recipeOf(await planMerge('ties.yaml')), { out: './again' })
 */
export const recipeOf = ({ completeRecipe, inputs }: MergePlan): RecipeInput =>
  inCamelCase(respell(completeRecipe, inputs, ({ path }) => path)) as unknown as RecipeInput;

const inCamelCase = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(inCamelCase);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [toCamelCase(key), inCamelCase(inner)]),
  );
};
