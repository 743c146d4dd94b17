import { requireOut } from '../core/base/files/require-out.js';
import { type MergeResult, type RunOptions, runPlan } from '../core/engine/run-plan.js';
import { parseRecipe } from '../core/methods/recipe/recipe.js';
import type {
  CommonParameters,
  LayerSwapParameters,
  RecipeInput,
  RelayoutParameters,
  RevertParameters,
  SoupParameters,
} from '../core/methods/recipes.js';
import { type MergePlanOptions, planMerge } from './plan-merge.js';

/** Options of every merge, beside the recipe. */
export type MergeOptions = MergePlanOptions & RunOptions;

/**
 * Merges by a recipe of any method: an object, or the path of a YAML file in layerloom's or mergekit's
 * dialect.
 *
 * @example await merge('ties.yaml', { out: './merged' })
 * @example await merge({ method: 'ties', base: './llama', models: ['./math-1', './swh-1'], weights: [1, 1], density: 0.5 }, { out: './merged' })
 * @throws LayerloomError RECIPE_INVALID; INVALID_PARAMETER if `out` is missing; the codes of `planMerge` and
 *   `runPlan`
 */
export const merge = async (recipe: RecipeInput | string, options: MergeOptions): Promise<MergeResult> => {
  if (options?.out === undefined && typeof recipe !== 'string') parseRecipe(recipe);
  requireOut(options);
  return runPlan(await planMerge(recipe, options), options);
};

/**
 * Swaps layers of two experts (paper, Algorithm 1): bottom and top layers come from the language expert, the
 * middle from the task expert. Transitions and tensors outside the layers are averages.
 *
 * @example await layerSwap({ task: './math-1', language: './swh-1' }, { out: './merged' })
 * @throws LayerloomError the codes of `merge`
 */
export const layerSwap = (
  parameters: LayerSwapParameters & CommonParameters,
  options: MergeOptions,
): Promise<MergeResult> => merge({ method: 'layer_swap', ...parameters }, options);

/**
 * Averages models tensor by tensor (paper §5), uniformly unless `weights` are given.
 *
 * @example await soup({ models: ['./math-1', './swh-1'] }, { out: './merged' })
 * @throws LayerloomError the codes of `merge`
 */
export const soup = (
  parameters: SoupParameters & CommonParameters,
  options: MergeOptions,
): Promise<MergeResult> => merge({ method: 'soup', ...parameters }, options);

/**
 * Reverts parts of an expert to its base (paper §3.3): layers by location, or rows that changed little.
 *
 * @example await revert({ base: './llama-3.1-8b', model: './math-1', bottom: 5, top: 2 }, { out: './reverted' })
 * @example await revert({ base: './llama-3.1-8b', model: './math-1', targetKept: 0.75 }, { out: './reverted' })
 * @throws LayerloomError the codes of `merge`
 */
export const revert = (
  parameters: RevertParameters & CommonParameters,
  options: MergeOptions,
): Promise<MergeResult> => merge({ method: 'revert', ...parameters }, options);

/**
 * Rewrites a checkpoint in other shards without changing tensors, so that later merges can link shards of
 * whole layers.
 *
 * @example await relayout({ model: './math-1' }, { out: './math-1-by-layer' })
 * @throws LayerloomError the codes of `merge`
 */
export const relayout = (
  parameters: RelayoutParameters & CommonParameters,
  options: MergeOptions,
): Promise<MergeResult> => merge({ method: 'relayout', ...parameters }, options);
