// The library's entry point. Every command does the work of one of these functions, with the same defaults.

import './core/native/check-node.js';

export { type AnalyzeOptions, type AnalyzeParameters, analyze } from './api/analyze.js';
export { type Attestation, type AttestOptions, attest } from './api/attest.js';
export { bundle } from './api/bundle.js';
export { type ChainOptions, chain } from './api/chain.js';
export {
  type ChooseOptions,
  type ChooseParameters,
  type ChosenParts,
  chooseParts,
} from './api/choose-parts.js';
export { type DiffOptions, diff } from './api/diff.js';
export type { Finding } from './api/doctor/finding.js';
export { draw } from './api/draw.js';
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
export { rebuild } from './api/rebuild.js';
export { recipeOf } from './api/recipe-of.js';
export { type WriteReportOptions, writeReport } from './api/report.js';
export { rescore } from './api/rescore.js';
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
export { type SuggestedExpert, type Suggestion, type SuggestParameters, suggest } from './api/suggest.js';
export { checkTaskData, type TaskData, type TaskDataReport } from './api/task-data.js';
export { type TrainInitOptions, type TrainingFiles, trainInit } from './api/train-init.js';
export { type TrainingStatus, trainingStatus } from './api/training-status.js';
export { type VerifyOutputOptions, verify } from './api/verify.js';
export { watchStudy } from './api/watch-study.js';
export type { WrittenSignature, WrittenStatement } from './core/attestation/attest-output.js';
export type { Chain, ChainModel, LinkState } from './core/attestation/chain.js';
export {
  type ContextDetails,
  type ErrorCode,
  type ErrorContext,
  type ErrorDetails,
  errorCodes,
  LayerloomError,
} from './core/base/errors/errors.js';
export { version } from './core/base/files/version.js';
export type { ExportedModel, ModelExportOptions } from './core/conversion/export-model.js';
export type { GgufType } from './core/conversion/gguf-types.js';
export type { LoadedOnce } from './core/conversion/steps.js';
export type { DifferentTensor } from './core/engine/compute/recompute.js';
export type { Link } from './core/engine/output/link.js';
export type { ShardRecord } from './core/engine/output/record/provenance.js';
export type { TruncatedProduct } from './core/engine/output/record/truncated.js';
export type { Progress, RunControls, RunCost } from './core/engine/run.js';
export { type MergeResult, type RunOptions, runPlan } from './core/engine/run-plan.js';
export type { Concern, Proposal } from './core/measure/analysis/advice/proposal.js';
export type { TopOverlap, TopOverlapPart } from './core/measure/analysis/advice/top-overlap.js';
export type { AnalysedModel, Analysis, TensorAnalysis } from './core/measure/analysis/analysis.js';
export type { Overlap, OverlapPart } from './core/measure/analysis/overlap.js';
export type { Shares } from './core/measure/analysis/shares.js';
export type {
  ComparedModel,
  Comparison,
  ElementDifferences,
  StoredAs,
  TensorComparison,
  TensorState,
} from './core/measure/comparison/comparison.js';
export type { KeyDifference, SideFileDifference } from './core/measure/comparison/side-file-differences.js';
export type { Choice } from './core/measure/extraction/choose-tensors.js';
export type {
  ExtractedTensor,
  Extraction,
  ExtractionResult,
  LeftOutTensor,
} from './core/measure/extraction/extraction.js';
export type { ExtractionOptions } from './core/measure/extraction/run-extraction.js';
export type { PartitionFormat } from './core/measure/partition/formats/names.js';
export type {
  FoundByAnalysis,
  FoundByLocation,
  Granularity,
  Partition,
  PartName,
} from './core/measure/partition/partition.js';
export type { PartitionByLocation } from './core/measure/partition/partition-of.js';
export type {
  Fault,
  MergeProof,
  ProofVerdict,
  ProvenState,
  ProvenTensor,
} from './core/measure/proof/proof.js';
export type { LoadingVerdict, MismatchedTensor } from './core/measure/verification/loading-verdict.js';
export type {
  CheckedSignature,
  CheckedStatement,
  OutputVerification,
  RecomputedTiles,
  VerifiedFile,
  VerifiedInput,
} from './core/measure/verification/verification.js';
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
} from './core/methods/framework/declaration/method.js';
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
} from './core/methods/framework/declaration/settings.js';
export type {
  OutlierParameters,
  RandomParameters,
  RankParameters,
  SparseParameters,
  TaskVectorParameters,
} from './core/methods/framework/task-vectors.js';
export { tensorMethod } from './core/methods/framework/tensors/tensor-method.js';
export type {
  MethodParameters,
  ModelEntry,
  Settings,
  SliceEntry,
  TensorMethod,
} from './core/methods/framework/tensors/tensor-parameters.js';
export type {
  BaseUse,
  EachModel,
  ModelCount,
  TensorInput,
  TensorMethodSpec,
  Values,
} from './core/methods/framework/tensors/tensor-spec.js';
export { methods, registerMethod } from './core/methods/index.js';
export type { Expression, ModelTensor } from './core/methods/operations/expression.js';
export type { Formula } from './core/methods/operations/formula.js';
export type { Gram, GramRule, RuleParameters } from './core/methods/operations/program/rules.js';
export type { Copy } from './core/methods/operations/rows/copy.js';
export type { Pruning } from './core/methods/operations/votes/consensus.js';
export type { Sparsifier } from './core/methods/operations/votes/sparsifiers.js';
export { type ReadRecipe, type RecipeWarning, readRecipe } from './core/methods/recipe/read-recipe.js';
export type { RecordedFile, RecordedInput, RecordedInputs } from './core/methods/recipe/recorded-inputs.js';
// With `*`, so that programs can extend `CustomMethods` as an interface of this module.
export type * from './core/methods/recipes.js';
export {
  type Architecture,
  describeArchitecture,
  type Place,
} from './core/models/architecture/architecture.js';
export type { Role } from './core/models/architecture/role.js';
export type { CheckpointIndex, FileIdentity, FileState } from './core/models/checkpoint/checkpoint.js';
export {
  encodeHeader,
  type Header,
  type HeaderTensor,
  parseHeader,
} from './core/models/checkpoint/containers/safetensors/header.js';
export type { Layout } from './core/models/checkpoint/layouts.js';
export { openModel as openCheckpoint } from './core/models/reading/read-model.js';
export type {
  PushedFile,
  PushOptions,
  PushResult,
} from './core/models/sources/hub/push/upload/push-result.js';
export type { RangeCacheEntry, RangeCacheFile } from './core/models/sources/ranges/list.js';
export type { RangeCacheRemoval } from './core/models/sources/remove-ranges.js';
export { instructionSets } from './core/native/addon.js';
export type { Explanation } from './core/plan/compile/explanation.js';
export type * from './core/plan/plan.js';
export type { SignedBy } from './core/statements/signature.js';
export type { ArithmeticDtype, Dtype, DtypeName } from './core/tensor/dtype.js';
export type { Shape, TensorReference } from './core/tensor/reference.js';
export type { Rows } from './core/tensor/rows.js';
export type { MergeOutcome } from './study/batch/merge-tracker.js';
export type { BatchMerge, MergeState, RefusedMerge } from './study/batch/planning/batch-merge.js';
export type { BatchPlan, PlannedMerge } from './study/batch/planning/batch-plan.js';
export type { BatchCost } from './study/batch/planning/cost.js';
export type { DistinctShard } from './study/batch/planning/groups.js';
export type { MergeShard } from './study/batch/planning/merge-shards.js';
export type { Part } from './study/batch/planning/part.js';
export type { BatchOptions, BatchResult } from './study/batch/run-batch.js';
export type { MadeAgain, OtherMerge } from './study/bundle/make-again.js';
export type { EntryKind } from './study/bundle/names.js';
export type { RebuildOptions, RebuiltStudy } from './study/bundle/rebuild-study.js';
export type { Bundle, BundledFiles, BundleOptions } from './study/bundle/write-bundle.js';
export type { Evaluation, EvaluationBlock } from './study/evaluation/evaluation-block.js';
export type {
  EvaluationResult,
  ProblemResult,
  ProblemScore,
  Score,
  Scores,
} from './study/evaluation/result.js';
export { type Trial, type TryOptions, tryModels } from './study/evaluation/try-models.js';
export type {
  ExperimentInput,
  MergeInput,
  ReferenceInput,
} from './study/experiment/file/blocks/experiment-block.js';
export type { FurtherReference } from './study/experiment/file/blocks/further-references.js';
export type { SearchBlock } from './study/experiment/file/blocks/search-block.js';
export { type ExperimentMerge, expandExperiment } from './study/experiment/file/expand.js';
export {
  type Experiment,
  type Experts,
  type MergeEntry,
  parseExperiment,
  readExperiment,
} from './study/experiment/file/read-experiment.js';
export { type ExperimentReference, experimentReferences } from './study/experiment/file/references.js';
export type { ExperimentOptions } from './study/experiment/open-experiment.js';
export { planExperiment } from './study/experiment/plan-experiment.js';
export type {
  ExperimentRecord,
  MergeRecord,
  Scored,
  ScoreError,
} from './study/experiment/record/experiment-record.js';
export { type ExperimentResult, runExperiment } from './study/experiment/run-experiment.js';
export {
  type EvaluationOutcome,
  evaluateExperiment,
} from './study/experiment/scoring/evaluate-experiment.js';
export { type EvaluateModelsOptions, evaluateModels } from './study/experiment/scoring/evaluate-models.js';
export { evaluationCommands } from './study/experiment/scoring/evaluation-commands.js';
export type { EvaluateOptions, EvaluationProgress } from './study/experiment/scoring/evaluation-options.js';
export { type ImportOutcome, importResults } from './study/experiment/scoring/import-results.js';
export {
  type EvaluationPlan,
  type PlannedTask,
  planEvaluation,
  type ScoringTime,
} from './study/experiment/scoring/plan-evaluation.js';
export type { ScoringOutcome } from './study/experiment/scoring/score-model.js';
export type { ProposedSwap } from './study/pages/analysis/proposed-swaps.js';
export type { AnalysisResult } from './study/pages/analysis/write-analysis.js';
export type { Drawn, DrawnPicture, DrawOptions } from './study/pages/report/draw-study.js';
export type { ReportOptions, WrittenReport } from './study/pages/report/write-report.js';
export type { FormattedTables, TableFormat, TextFormat } from './study/pages/score-table/formats.js';
export type {
  Amount,
  MergesState,
  ScoresState,
  StudyError,
  StudyState,
} from './study/pages/study/study-state.js';
export type { WatchedStudy, WatchStudyOptions } from './study/pages/study/watch-study.js';
export { experimentPreset, type PresetModels, type PresetName } from './study/paper/experiment.js';
export type { Rescored, RescoreOptions } from './study/rescoring/rescore-study.js';
export type { EvaluationJobs, JobParameters, TrainingJobParameters } from './study/schedulers/jobs.js';
export {
  type ClaimedVolume,
  type KubernetesEvaluation,
  type KubernetesParameters,
  type KubernetesTrainingParameters,
  kubernetesManifest,
} from './study/schedulers/kubernetes.js';
export {
  type SlurmEvaluation,
  type SlurmParameters,
  type SlurmTrainingParameters,
  slurmScript,
} from './study/schedulers/slurm.js';
export {
  type SnakemakeEvaluation,
  type SnakemakeParameters,
  type SnakemakeTrainingParameters,
  snakemakeWorkflow,
} from './study/schedulers/snakemake.js';
export type { Conclusion, Verdict } from './study/scores/comparing/conclusion.js';
export type { Cell, Derived, ScoreTable, TableColumn, TableRow } from './study/scores/reading/score-table.js';
export type { HeadlineMetric } from './study/scores/reading/scored-experiment.js';
export type { SearchPlan } from './study/search/plan-search.js';
export type { ScoringProgress, SearchRecord } from './study/search/run-search.js';
export type { SelectionByRole } from './study/search/select/select-by-role.js';
export {
  type SelectedCheckpoint,
  type Selection,
  type SelectionCandidate,
  type SelectionDistance,
  type SelectionInput,
  selectCheckpoints,
} from './study/search/select/select-checkpoints.js';
export type { SelectionWishes } from './study/search/select/selection-wishes.js';
export type { Scorer } from './study/search/space/experiment-landscape.js';
export type { HeldOutComparison } from './study/search/space/landscape.js';
export type { Candidate, SearchStep, SearchTrace, Strategy } from './study/search/space/trace.js';
export type { ForecastStep } from './study/search/successive-halving.js';
export type { Claim, FinishedShard } from './study/store/claims/claim.js';
export type { ExperimentFound, ExperimentShards } from './study/store/experiments.js';
export type { LinkedShard } from './study/store/files/link-shard.js';
export type { StoredShard } from './study/store/files/record.js';
export type { Collection, GcOptions } from './study/store/gc.js';
export type { Leftovers } from './study/store/leftovers.js';
export type { ListedClaim, ListedShard, StoreListing } from './study/store/list.js';
export { ShardStore } from './study/store/shard-store.js';
export type { DamagedShard, Verification, VerifyOptions } from './study/store/verify.js';
export type { TrainingEstimate } from './study/training/estimate.js';
export type { TrainingRun } from './study/training/settings/training-run.js';
export type { TrainingParameters } from './study/training/settings/training-settings.js';
