import { dirname } from 'node:path';
import { checkInterrupt, LayerloomError } from '../core/base/errors/errors.js';
import { doubtsOfBases } from '../core/measure/analysis/base-concerns.js';
import { gatherStatistics, type StatisticsOptions } from '../core/measure/analysis/statistics.js';
import type { Statistics } from '../core/methods/framework/declaration/method.js';
import { readRecipe, withPlace, withWarnings } from '../core/methods/recipe/read-recipe.js';
import { allRecipes, type Recipe } from '../core/methods/recipe/recipe.js';
import { isRecipeText } from '../core/methods/recipe/recipe-file.js';
import type { RecordedInputs } from '../core/methods/recipe/recorded-inputs.js';
import type { RecipeInput } from '../core/methods/recipes.js';
import { bringModels } from '../core/models/sources/bring-models.js';
import { checkRecorded } from '../core/plan/compile/check-recorded.js';
import { compose } from '../core/plan/compile/compose.js';
import type { StatisticsByRecipe } from '../core/plan/compile/composed.js';
import { type Explanation, explain } from '../core/plan/compile/explanation.js';
import { plannedInput } from '../core/plan/compile/inputs/models.js';
import {
  modelsIn,
  type OpenedInputs,
  observeInputs,
  openInputs,
} from '../core/plan/compile/inputs/opened-inputs.js';
import { type PlanOptions, planRecipe } from '../core/plan/compile/plan-recipe.js';
import type { MergePlan } from '../core/plan/plan.js';
import { missingForPlan } from '../core/plan/reports/missing-weights.js';
import { type RecipeOverrides, settle } from '../core/settle/settle.js';

/** Options of planning, including computing the statistics that a method needs. */
export type MergePlanOptions = PlanOptions &
  Omit<StatisticsOptions, 'allowNonFinite'> &
  RecipeOverrides & {
    /** Run a `layerloom.json` although its inputs have changed since; default false. */
    allowChanged?: boolean | undefined;
  };

/**
 * Plans a merge: opens the recipe's models, checks that they are compatible, and fixes every byte range of
 * the output. Reads headers, small files, and some rows of a base and its experts, to warn of a wrong base.
 * Statistics of whole models (for `weights: 'magnitude'`, `revert` by rows, TIES as in its paper) are
 * computed from the weights, or read from `analysis`.
 *
 * @param input a recipe, or a text that begins with `{` and contains one; or the path of a YAML file in
 *   layerloom's or mergekit's dialect, of a model card (`README.md`), or of a merge's `layerloom.json`
 * @throws LayerloomError the codes of a recipe, a checkpoint, an incompatibility or an analysis, with file,
 *   line and column if the recipe is a file; INTERRUPTED; INPUT_NOT_AS_RECORDED for a `layerloom.json`, or a
 *   card beside one, if an input has changed since
 */
export const planMerge = (input: RecipeInput | string, options: MergePlanOptions = {}): Promise<MergePlan> =>
  withRecipe(input, options, async (recipe, recorded, ofRecipe) => {
    const { inputs, statistics, warnings } = await openFor(recipe, options, recorded);
    const plan = await planRecipe(recipe, options, statistics, inputs);
    const { bytes, models } = await missingForPlan(plan);
    // Reading headers does not check the signal, so it is checked here.
    checkInterrupt(options.signal);
    return {
      ...plan,
      ...(bytes === 0 ? {} : { download: { bytes, models } }),
      warnings: [...ofRecipe, ...warnings, ...plan.warnings],
    };
  });

/**
 * Explains how one tensor of a merge is computed.
 *
 * @throws LayerloomError INVALID_PARAMETER if the merge has no such tensor; the codes of `planMerge`
 */
export const explainTensor = (
  input: RecipeInput | string,
  tensor: string,
  options: MergePlanOptions = {},
): Promise<Explanation> =>
  withRecipe(input, options, async (recipe, recorded) => {
    const { inputs, statistics } = await openFor(recipe, options, recorded);
    return explain(await compose(recipe, inputs, statistics), tensor, inputs.checkpoints.map(plannedInput));
  });

/** Settles a recipe or file and calls `work` with it. Adds line, column and the file's warnings to errors. */
const withRecipe = async <T>(
  input: RecipeInput | string,
  options: MergePlanOptions,
  work: (recipe: Recipe, recorded: RecordedInputs | undefined, warnings: readonly string[]) => Promise<T>,
): Promise<T> => {
  const read = typeof input === 'string' ? await readRecipe(input) : undefined;
  const warnings = read?.warnings ?? [];
  if (options.strict && warnings[0] !== undefined) throw warnings[0].error;
  const folder = typeof input === 'string' && !isRecipeText(input) ? dirname(input) : '';
  try {
    return await work(
      await settle(read?.recipe ?? input, options, folder),
      read?.recorded,
      warnings.map(({ text }) => text),
    );
  } catch (error) {
    const placed = read !== undefined && error instanceof LayerloomError ? withPlace(error, read) : error;
    throw withWarnings(placed, warnings);
  }
};

/**
 * Opens a recipe's models, fetching them if options say so. Checks them against recorded inputs, and gathers
 * statistics for the recipe and nested recipes.
 */
const openFor = async (
  recipe: Recipe,
  options: MergePlanOptions,
  recorded: RecordedInputs | undefined,
): Promise<{ inputs: OpenedInputs; statistics: StatisticsByRecipe; warnings: readonly string[] }> => {
  const statistics = new Map<Recipe, Statistics>();
  const warnings = [...(await bringModels(modelsIn(recipe), options))];
  // Opens the models first, so that a missing model is reported before any weight is read.
  const opened = await openInputs(recipe);
  if (recorded !== undefined && options.allowChanged !== true) await checkRecorded(opened, recorded);
  // Checks nested recipes first, because the outer statistics are computed from their results.
  warnings.push(...(await doubtsOfBases(allRecipes(recipe), opened, options)));
  const measured = allRecipes(recipe).filter((of) => of.statistics !== undefined);
  if (measured.length === 0) return { inputs: opened, statistics, warnings };
  // Observes the inputs before computing statistics. So the merge is refused if a file changes after its
  // statistics were read.
  const inputs = await observeInputs(opened);
  const { allowNonFinite } = recipe;
  for (const of of measured)
    statistics.set(of, await gatherStatistics(of, statistics, { ...options, allowNonFinite }));
  return { inputs, statistics, warnings };
};
