// The library's door. Every command is a thin call of one of these functions, with the same defaults.

import './native/check-node.js';

export {
  type AnalyzeOptions,
  type AnalyzeParameters,
  analyze,
} from './api/analyze.js';
export {
  type ChooseOptions,
  type ChooseParameters,
  type ChosenParts,
  chooseParts,
} from './api/choose-parts.js';
export { type DiffOptions, diff } from './api/diff.js';
export { type Examination, examineInstallation } from './api/examine-installation.js';
export { exportModel } from './api/export-model.js';
export { type ExportedRecipe, type ExportOptions, exportRecipe } from './api/export-recipe.js';
export { type ExtractLoraParameters, extractLora } from './api/extract-lora.js';
export { formatTables } from './api/format-tables.js';
export { layerSwap, type MergeOptions, merge, relayout, revert, soup } from './api/merge.js';
export {
  type PartitionOptions,
  type PartitionParameters,
  type PartitionResult,
  partition,
} from './api/partition.js';
export { explainTensor, type MergePlanOptions, planMerge } from './api/plan-merge.js';
export { push } from './api/push.js';
export {
  type ClearRangeCacheOptions,
  clearRangeCache,
  type RangeCacheListing,
  rangeCache,
} from './api/range-cache.js';
export { recipeOf } from './api/recipe-of.js';
export { type WriteReportOptions, writeReport } from './api/report.js';
export { type ScoreTables, type ScoreTablesOptions, scoreTables } from './api/score-tables.js';
export {
  type PlanSearchExperimentOptions,
  planSearchExperiment,
  type SearchExperimentOptions,
  type SearchResult,
  searchExperiment,
} from './api/search-experiment.js';
export {
  type SelectedExperts,
  type SelectOptions,
  type SelectParameters,
  selectFromFiles,
} from './api/select-from-files.js';
export { type StudyModels, selectedModels, trainedModels } from './api/study-models.js';
export { checkTaskData, type TaskData, type TaskDataReport } from './api/task-data.js';
export { type TrainInitOptions, type TrainingFiles, trainInit } from './api/train-init.js';
export { type TrainingStatus, trainingStatus } from './api/training-status.js';
export { type VerifyOutputOptions, verify } from './api/verify.js';
export { watchStudy } from './api/watch-study.js';
export {
  type ContextDetails,
  type ErrorCode,
  type ErrorContext,
  type ErrorDetails,
  errorCodes,
  LayerloomError,
} from './base/errors.js';
export { version } from './base/version.js';
export type { BatchMerge, MergeState, RefusedMerge } from './batch/batch-merge.js';
export type { BatchPlan, PlannedMerge } from './batch/batch-plan.js';
export type { BatchCost } from './batch/cost.js';
export type { DistinctShard } from './batch/groups.js';
export type { MergeShard } from './batch/merge-shards.js';
export type { MergeOutcome } from './batch/merge-tracker.js';
export type { Part } from './batch/part.js';
export type { BatchOptions, BatchResult } from './batch/run-batch.js';
export type { CheckpointIndex, FileIdentity, FileState } from './checkpoint/checkpoint.js';
export {
  encodeHeader,
  type Header,
  type HeaderTensor,
  parseHeader,
} from './checkpoint/containers/safetensors/header.js';
export type { Layout } from './checkpoint/layouts.js';
export type { Explanation } from './compile/explanation.js';
export type { ExportedModel, ModelExportOptions } from './conversion/export-model.js';
export type { GgufType } from './conversion/gguf-types.js';
export type { LoadedOnce } from './conversion/steps.js';
export type { Finding } from './doctor/finding.js';
export type { ProposedSwap } from './documents/analysis/proposed-swaps.js';
export type { AnalysisResult } from './documents/analysis/write-analysis.js';
export type { ReportOptions, WrittenReport } from './documents/report/write-report.js';
export type { FormattedTables, TableFormat, TextFormat } from './documents/score-table/formats.js';
export type {
  Amount,
  MergesState,
  ScoresState,
  StudyError,
  StudyState,
} from './documents/study/study-state.js';
export type { WatchedStudy, WatchStudyOptions } from './documents/study/watch-study.js';
export type { DifferentTensor } from './engine/compute/recompute.js';
export type { Link } from './engine/output/link.js';
export type { ShardRecord } from './engine/output/provenance.js';
export type { TruncatedProduct } from './engine/output/truncated.js';
export type { Progress, RunControls, RunCost } from './engine/run.js';
export { type MergeResult, type RunOptions, runPlan } from './engine/run-plan.js';
export type { Evaluation, EvaluationBlock } from './evaluation/evaluation-block.js';
export type { EvaluationResult, ProblemResult, ProblemScore, Score, Scores } from './evaluation/result.js';
export { type Trial, type TryOptions, tryModels } from './evaluation/try-models.js';
export { type ExperimentMerge, expandExperiment } from './experiment/file/expand.js';
export type { ExperimentInput, MergeInput, ReferenceInput } from './experiment/file/experiment-block.js';
export type { FurtherReference } from './experiment/file/further-references.js';
export {
  type Experiment,
  type Experts,
  type MergeEntry,
  parseExperiment,
  readExperiment,
} from './experiment/file/read-experiment.js';
export { type ExperimentReference, experimentReferences } from './experiment/file/references.js';
export type { SearchBlock } from './experiment/file/search-block.js';
export type {
  ExperimentRecord,
  MergeRecord,
  Scored,
  ScoreError,
} from './experiment/record/experiment-record.js';
export {
  type ExperimentOptions,
  type ExperimentResult,
  planExperiment,
  runExperiment,
} from './experiment/run-experiment.js';
export { type EvaluationOutcome, evaluateExperiment } from './experiment/scoring/evaluate-experiment.js';
export { evaluationCommands } from './experiment/scoring/evaluation-commands.js';
export type { EvaluateOptions, EvaluationProgress } from './experiment/scoring/evaluation-options.js';
export { type ImportOutcome, importResults } from './experiment/scoring/import-results.js';
export {
  type EvaluationPlan,
  type PlannedTask,
  planEvaluation,
  type ScoringTime,
} from './experiment/scoring/plan-evaluation.js';
export type { ScoringOutcome } from './experiment/scoring/score-model.js';
export type { AnalysedModel, Analysis, TensorAnalysis } from './measure/analysis/analysis.js';
export type { Overlap, OverlapPart } from './measure/analysis/overlap.js';
export type { Concern, Proposal } from './measure/analysis/proposal.js';
export type { Shares } from './measure/analysis/shares.js';
export type { TopOverlap, TopOverlapPart } from './measure/analysis/top-overlap.js';
export type {
  ComparedModel,
  Comparison,
  ElementDifferences,
  StoredAs,
  TensorComparison,
  TensorState,
} from './measure/comparison/comparison.js';
export type { KeyDifference, SideFileDifference } from './measure/comparison/side-file-differences.js';
export type { Choice } from './measure/extraction/choose-tensors.js';
export type {
  ExtractedTensor,
  Extraction,
  ExtractionResult,
  LeftOutTensor,
} from './measure/extraction/extraction.js';
export type { ExtractionOptions } from './measure/extraction/run-extraction.js';
export type { PartitionFormat } from './measure/partition/formats/names.js';
export type {
  FoundByAnalysis,
  FoundByLocation,
  Granularity,
  Partition,
  PartName,
} from './measure/partition/partition.js';
export type { PartitionByLocation } from './measure/partition/partition-of.js';
export type { LoadingVerdict, MismatchedTensor } from './measure/verification/loading-verdict.js';
export type {
  OutputVerification,
  RecomputedTiles,
  VerifiedFile,
  VerifiedInput,
} from './measure/verification/verification.js';
export type {
  Citation,
  CompileContext,
  Compiled,
  Kept,
  MajoritySign,
  Method,
  MethodReport,
  ModelReference,
  ModelView,
  NeededStatistics,
  OutputTensor,
  RecipePath,
  ReportedPlan,
  Takes,
  TaskVectorStatistics,
} from './methods/framework/method.js';
export {
  anyNumber,
  flag,
  numberParameter,
  oneOf,
  type ParameterSpec,
  type ParameterSpecs,
  type Scalar,
  type SettingInput,
  share,
} from './methods/framework/settings.js';
export type {
  OutlierParameters,
  RandomParameters,
  RankParameters,
  SparseParameters,
  TaskVectorParameters,
} from './methods/framework/task-vectors.js';
export { tensorMethod } from './methods/framework/tensor-method.js';
export type {
  MethodParameters,
  ModelEntry,
  Settings,
  SliceEntry,
  TensorMethod,
} from './methods/framework/tensor-parameters.js';
export type {
  BaseUse,
  EachModel,
  ModelCount,
  TensorInput,
  TensorMethodSpec,
  Values,
} from './methods/framework/tensor-spec.js';
export { methods, registerMethod } from './methods/index.js';
// With `*`, so that programs can add to `CustomMethods` as to an interface of this module.
export type * from './methods/recipes.js';
export { type Architecture, describeArchitecture, type Place } from './model/architecture/architecture.js';
export type { Role } from './model/architecture/role.js';
export { openModel as openCheckpoint } from './model/reading/read-model.js';
export { instructionSets } from './native/addon.js';
export type { Pruning } from './operations/consensus.js';
export type { Copy } from './operations/copy.js';
export type { Expression, ModelTensor } from './operations/expression.js';
export type { Formula } from './operations/formula.js';
export type { Gram, GramRule, RuleParameters } from './operations/rules.js';
export type { Sparsifier } from './operations/sparsifiers.js';
export { experimentPreset, type PresetModels, type PresetName } from './paper/experiment.js';
export type * from './plan/plan.js';
export { type ReadRecipe, type RecipeWarning, readRecipe } from './recipe/read-recipe.js';
export type { RecordedFile, RecordedInput, RecordedInputs } from './recipe/recorded-inputs.js';
export type { EvaluationJobs, JobParameters, TrainingJobParameters } from './schedulers/jobs.js';
export {
  type ClaimedVolume,
  type KubernetesEvaluation,
  type KubernetesParameters,
  type KubernetesTrainingParameters,
  kubernetesManifest,
} from './schedulers/kubernetes.js';
export {
  type SlurmEvaluation,
  type SlurmParameters,
  type SlurmTrainingParameters,
  slurmScript,
} from './schedulers/slurm.js';
export {
  type SnakemakeEvaluation,
  type SnakemakeParameters,
  type SnakemakeTrainingParameters,
  snakemakeWorkflow,
} from './schedulers/snakemake.js';
export type { Conclusion, Verdict } from './scores/conclusion.js';
export type { Cell, Derived, ScoreTable, TableColumn, TableRow } from './scores/score-table.js';
export type { HeadlineMetric } from './scores/scored-experiment.js';
export type { Scorer } from './search/experiment-landscape.js';
export type { ForecastStep } from './search/forecast.js';
export type { HeldOutComparison } from './search/landscape.js';
export type { SearchPlan } from './search/plan-search.js';
export type { ScoringProgress, SearchRecord } from './search/run-search.js';
export type { SelectionByRole } from './search/select-by-role.js';
export {
  type SelectedCheckpoint,
  type Selection,
  type SelectionCandidate,
  type SelectionDistance,
  type SelectionInput,
  selectCheckpoints,
} from './search/select-checkpoints.js';
export type { SelectionWishes } from './search/selection-wishes.js';
export type { Candidate, SearchStep, SearchTrace, Strategy } from './search/trace.js';
export type { PushedFile, PushOptions, PushResult } from './sources/hub/push/push-result.js';
export type { RangeCacheEntry, RangeCacheFile } from './sources/ranges/list.js';
export type { RangeCacheRemoval } from './sources/remove-ranges.js';
export type { Claim, FinishedShard } from './store/claim.js';
export type { ExperimentFound, ExperimentShards } from './store/experiments.js';
export type { Collection, GcOptions } from './store/gc.js';
export type { Leftovers } from './store/leftovers.js';
export type { LinkedShard } from './store/link-shard.js';
export type { ListedClaim, ListedShard, StoreListing } from './store/list.js';
export type { StoredShard } from './store/record.js';
export { ShardStore } from './store/shard-store.js';
export type { DamagedShard, Verification, VerifyOptions } from './store/verify.js';
export type { ArithmeticDtype, Dtype, DtypeName } from './tensor/dtype.js';
export type { Shape, TensorReference } from './tensor/reference.js';
export type { Rows } from './tensor/rows.js';
export type { TrainingRun } from './training/training-run.js';
export type { TrainingParameters } from './training/training-settings.js';
