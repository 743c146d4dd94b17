import type { MergePlan } from '../plan/plan.js';
import { type PlanOptions, planMerge as planFromHeaders } from '../plan/plan-merge.js';
import { parseRecipe, type RecipeInput } from '../recipe/recipe.js';
import { gatherStatistics, type StatisticsOptions } from './statistics.js';

/** How to plan, and how to run the stage before it where a method needs one. */
export type MergePlanOptions = Omit<PlanOptions, 'statistics'> & StatisticsOptions;

/**
 * Decides a merge: opens the recipe's models, checks that they fit, and fixes every byte range of the output. Only headers and small files are
 * read, but where the method needs task vectors (`weights: 'magnitude'`, `revert` by rows): these are read from `analysis`, or computed
 * from the weights.
 *
 * @throws LayerloomError: a recipe's, a checkpoint's, an incompatibility's or an analysis's code
 */
export const planMerge = async (recipe: RecipeInput, options: MergePlanOptions = {}): Promise<MergePlan> => {
  const { statistics: needed } = parseRecipe(recipe);
  if (needed === undefined) return await planFromHeaders(recipe, options);
  // Whether the recipe is sound otherwise is known before weights are read.
  const statistics = await gatherStatistics(needed, options);
  return await planFromHeaders(recipe, { ...options, statistics });
};
