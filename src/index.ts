// The library's door. Every command is a thin call of one of these functions, with the same defaults.

import { type MergePlanOptions, planMerge } from './analysis/plan.js';
import { type MergeResult, type RunOptions, runPlan } from './engine/run-plan.js';
import type { LayerSwapParameters } from './methods/layer-swap.js';
import type { RelayoutParameters } from './methods/relayout.js';
import type { RevertParameters } from './methods/revert.js';
import type { SoupParameters } from './methods/soup.js';
import type { RecipeInput } from './recipe/recipe.js';

export type { Analysis, TensorAnalysis } from './analysis/analysis.js';
export type { Overlap } from './analysis/overlap.js';
export { type Explanation, explainTensor, type MergePlanOptions, planMerge } from './analysis/plan.js';
export { type Architecture, describeArchitecture, type Place } from './architecture/architecture.js';
export type { Role } from './architecture/roles.js';
export type { CheckpointIndex, FileIdentity } from './checkpoint/checkpoint.js';
export { encodeHeader, type Header, type HeaderTensor, parseHeader } from './checkpoint/header.js';
export { openCheckpoint } from './checkpoint/open.js';
export type { Link } from './engine/link.js';
export type { ShardRecord } from './engine/provenance.js';
export { type MergeResult, type Progress, type RunOptions, runPlan } from './engine/run-plan.js';
export { type ErrorCode, type ErrorDetails, errorCodes, LayerloomError } from './errors.js';
export type { BatchMerge, BatchPlan, MergeShard, PlannedMerge } from './experiment/batch-plan.js';
export type { BatchCost } from './experiment/cost.js';
export { type ExperimentMerge, expandExperiment } from './experiment/expand.js';
export type { DistinctShard } from './experiment/groups.js';
export { experimentPreset, type PresetModels, type PresetName } from './experiment/presets.js';
export {
  type Evaluation,
  type Experiment,
  type ExperimentInput,
  type MergeEntry,
  parseExperiment,
  readExperiment,
} from './experiment/read-experiment.js';
export { type ExperimentReference, experimentReferences } from './experiment/references.js';
export type { BatchOptions, BatchResult, MergeOutcome, MergeState } from './experiment/run-batch.js';
export {
  type ExperimentOptions,
  type ExperimentRecord,
  type ExperimentResult,
  type MergeRecord,
  planExperiment,
  runExperiment,
} from './experiment/run-experiment.js';
export { type SlurmParameters, slurmScript } from './experiment/slurm.js';
export type { Expression, Formula, ModelTensor, Pruning, Sparsifier } from './methods/expression.js';
export type { Gram, GramRule, RuleParameters } from './methods/gram.js';
export { methods, registerMethod } from './methods/index.js';
export type { LayerSwapParameters } from './methods/layer-swap.js';
export type { CompileContext, Compiled, Method, ModelInput, NestedRecipe } from './methods/method.js';
export type { RelayoutParameters } from './methods/relayout.js';
export type { RevertParameters } from './methods/revert.js';
export { anyNumber, flag, numberParameter, type ParameterSpec, share } from './methods/settings.js';
export type { SoupParameters } from './methods/soup.js';
export {
  type ModelEntry,
  type SliceEntry,
  type TensorInput,
  type TensorMethodParameters,
  type TensorMethodSpec,
  tensorMethod,
} from './methods/tensor-method.js';
export { instructionSets } from './native/addon.js';
export type { Layout } from './plan/layout.js';
export type * from './plan/plan.js';
export { type ReadRecipe, readRecipe } from './recipe/read-recipe.js';
export type { CommonParameters, RecipeInput, TensorMethodName } from './recipe/recipe.js';
export {
  type AnalysisResult,
  type AnalyzeOptions,
  type AnalyzeParameters,
  analyze,
} from './report/analyze.js';
export type { Claim, FinishedShard } from './store/claim.js';
export type { ExperimentShards } from './store/experiments.js';
export type { Collection, GcOptions } from './store/gc.js';
export type { LinkedShard } from './store/link-shard.js';
export type { ListedShard, StoreListing } from './store/list.js';
export type { StoredShard } from './store/record.js';
export { ShardStore } from './store/shard-store.js';
export type { Verification, VerifyOptions } from './store/verify.js';
export type { ArithmeticDtype, Dtype } from './tensor/dtype.js';
export type { Shape, TensorReference } from './tensor/reference.js';
export { version } from './version.js';

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
