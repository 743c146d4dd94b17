import { type MergeResult, type RunOptions, runPlan } from '../engine/run-plan.js';
import type { LayerSwapParameters } from '../methods/layer-swap.js';
import type { RelayoutParameters } from '../methods/relayout.js';
import type { RevertParameters } from '../methods/revert.js';
import type { SoupParameters } from '../methods/soup.js';
import type { RecipeInput } from '../recipe/recipe.js';
import { type MergePlanOptions, planMerge } from './plan-merge.js';

/** What any merge may be told besides its recipe. */
export type MergeOptions = MergePlanOptions & RunOptions;

/**
 * Merges by a recipe, of any method: an object, or a YAML file of our dialect or mergekit's.
 *
 * @example await merge('ties.yaml', { out: './merged' })
 * @example await merge({ method: 'ties', base: './llama', models: ['./math-1', './swh-1'], weights: [1, 1], density: 0.5 }, { out: './merged' })
 * @throws LayerloomError RECIPE_INVALID; the codes of `planMerge` and `runPlan`
 */
export const merge = async (recipe: RecipeInput | string, options: MergeOptions): Promise<MergeResult> =>
  runPlan(await planMerge(recipe, options), options);

/**
 * Swaps layers of two experts (paper, Algorithm 1): bottom and top from the language expert, the middle from the task expert,
 * averages in the transitions and outside the layers.
 *
 * @example await layerSwap({ task: './math-1', language: './swh-1' }, { out: './merged' })
 * @throws LayerloomError the codes of `planMerge` and `runPlan`
 */
export const layerSwap = async (
  parameters: LayerSwapParameters & { dtype?: string | undefined },
  options: MergeOptions,
): Promise<MergeResult> =>
  runPlan(await planMerge({ method: 'layer_swap', ...parameters }, options), options);

/**
 * Averages models tensor by tensor (paper §5), uniformly unless `weights` are given.
 *
 * @example await soup({ models: ['./math-1', './swh-1'] }, { out: './merged' })
 * @throws LayerloomError the codes of `planMerge` and `runPlan`
 */
export const soup = async (
  parameters: SoupParameters & { dtype?: string | undefined },
  options: MergeOptions,
): Promise<MergeResult> => runPlan(await planMerge({ method: 'soup', ...parameters }, options), options);

/**
 * Puts parts of an expert back to its base (paper §3.3): layers by location, or rows that changed little.
 *
 * @example await revert({ base: './llama-3.1-8b', model: './math-1', bottom: 5, top: 2 }, { out: './reverted' })
 * @example await revert({ base: './llama-3.1-8b', model: './math-1', targetKept: 0.75 }, { out: './reverted' })
 * @throws LayerloomError the codes of `planMerge` and `runPlan`
 */
export const revert = async (
  parameters: RevertParameters & { dtype?: string | undefined },
  options: MergeOptions,
): Promise<MergeResult> => runPlan(await planMerge({ method: 'revert', ...parameters }, options), options);

/**
 * Writes a checkpoint in other shards, its tensors as they are: so that later merges can link those of layers they take whole.
 *
 * @example await relayout({ model: './math-1' }, { out: './math-1-by-layer' })
 * @throws LayerloomError the codes of `planMerge` and `runPlan`
 */
export const relayout = async (
  parameters: RelayoutParameters & { dtype?: string | undefined },
  options: MergeOptions,
): Promise<MergeResult> => runPlan(await planMerge({ method: 'relayout', ...parameters }, options), options);
