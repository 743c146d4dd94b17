import { gatherStatistics, type StatisticsOptions } from '../analysis/statistics.js';
import { checkInterrupt, LayerloomError } from '../errors.js';
import type { Statistics } from '../methods/framework/method.js';
import type { RecipeInput } from '../methods/recipes.js';
import { type OpenedInputs, observeInputs, openInputs, type StatisticsByRecipe } from '../plan/compose.js';
import type { MergePlan } from '../plan/plan.js';
import { type PlanOptions, planRecipe } from '../plan/plan-recipe.js';
import { readRecipe, withPlace } from '../recipe/read-recipe.js';
import { parseRecipe, type Recipe } from '../recipe/recipe.js';
import type { DtypeName } from '../tensor/dtype.js';

/** How to plan, and how to run the stage before it where a method needs one. */
export type MergePlanOptions = PlanOptions &
  StatisticsOptions & {
    /** The output's floating dtype, instead of the recipe's. */
    dtype?: DtypeName | undefined;
  };

/**
 * Decides a merge: opens the recipe's models, checks that they fit, and fixes every byte range of the output. Only headers and small files are
 * read, but where the method needs to know whole models (`weights: 'magnitude'`, `revert` by rows, TIES as in its paper): then task vectors are
 * read from `analysis`, or computed from the weights.
 *
 * @param input a recipe, or its file (YAML, of our dialect or mergekit's)
 * @throws LayerloomError: a recipe's, a checkpoint's, an incompatibility's or an analysis's code, with file, line and column where a file is to blame; INTERRUPTED
 */
export const planMerge = (input: RecipeInput | string, options: MergePlanOptions = {}): Promise<MergePlan> =>
  withRecipe(input, options, async (recipe) => {
    const { inputs, statistics } = await openFor(recipe, options);
    const plan = await planRecipe(recipe, options, statistics, inputs);
    // Headers are read without looking at the signal.
    checkInterrupt(options.signal);
    return plan;
  });

/** Parses a recipe, which may be a file's, and gives errors of what follows their place in it. */
export const withRecipe = async <T>(
  input: RecipeInput | string,
  { dtype }: MergePlanOptions,
  work: (recipe: Recipe) => Promise<T>,
): Promise<T> => {
  const read = typeof input === 'string' ? await readRecipe(input) : undefined;
  const given = read?.recipe ?? (input as RecipeInput);
  try {
    return await work(parseRecipe(dtype === undefined ? given : { ...given, dtype, outDtype: undefined }));
  } catch (error) {
    throw read !== undefined && error instanceof LayerloomError ? withPlace(error, read) : error;
  }
};

/** A recipe's models, and what it and the recipes in it must know of them beforehand. */
export const openFor = async (
  recipe: Recipe,
  options: MergePlanOptions,
): Promise<{ inputs: OpenedInputs; statistics: StatisticsByRecipe }> => {
  const statistics = new Map<Recipe, Statistics>();
  // Whether every model is there is known before weights are read.
  const opened = await openInputs(recipe);
  if (!needsStatistics(recipe)) return { inputs: opened, statistics };
  // Statistics and the merge read the same weights, or the merge is refused: their states are of before both.
  const inputs = await observeInputs(opened);
  const gather = async (of: Recipe): Promise<void> => {
    for (const inner of of.nested.values()) await gather(inner);
    if (of.statistics !== undefined) statistics.set(of, await gatherStatistics(of, statistics, options));
  };
  await gather(recipe);
  return { inputs, statistics };
};

const needsStatistics = (recipe: Recipe): boolean =>
  recipe.statistics !== undefined || [...recipe.nested.values()].some(needsStatistics);
