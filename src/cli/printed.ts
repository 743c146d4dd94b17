import type { Attestation } from '../api/attest.js';
import type { SearchResult } from '../api/search-experiment.js';
import type { Suggestion } from '../api/suggest.js';
import type { Chain } from '../core/attestation/chain.js';
import type { ExportedModel } from '../core/conversion/export-model.js';
import type { MergeResult } from '../core/engine/run-plan.js';
import type { Comparison } from '../core/measure/comparison/comparison.js';
import type { ExtractionResult } from '../core/measure/extraction/extraction.js';
import type { Partition } from '../core/measure/partition/partition.js';
import type { OutputVerification } from '../core/measure/verification/verification.js';
import type { Explanation } from '../core/plan/compile/explanation.js';
import type { MergePlan, PlannedDownload, PlannedShard, PlannedTensor } from '../core/plan/plan.js';
import type { DiskNeed } from '../study/batch/planning/check-batch.js';
import type { BatchCost } from '../study/batch/planning/cost.js';
import type { BatchResult } from '../study/batch/run-batch.js';
import type { RebuiltStudy } from '../study/bundle/rebuild-study.js';
import type { Bundle } from '../study/bundle/write-bundle.js';
import type { ExperimentMerge } from '../study/experiment/file/expand.js';
import type { CostInPlace } from '../study/experiment/in-place/cost-in-place.js';
import type { MeasuredMerging } from '../study/experiment/measured-merging.js';
import type { EvaluationOutcome } from '../study/experiment/scoring/evaluate-experiment.js';
import type { ImportOutcome } from '../study/experiment/scoring/import-results.js';
import type { EvaluationPlan, ScoringTime } from '../study/experiment/scoring/plan-evaluation.js';
import type { AnalysisResult } from '../study/pages/analysis/write-analysis.js';
import type { Drawn } from '../study/pages/report/draw-study.js';
import type { WrittenReport } from '../study/pages/report/write-report.js';
import type { WatchedStudy } from '../study/pages/study/watch-study.js';
import type { ScoreTable } from '../study/scores/reading/score-table.js';
import type { SearchPlan } from '../study/search/plan-search.js';
import type { CheckpointSummary } from './text/models/inspect.js';
import type { AdapterSummary } from './text/models/inspect-adapter.js';

// Output of commands with `--json`: the document, or the last line after events. scripts/python-results.mjs
// generates the Python package's types from these types.

/** Tensor of a printed plan. The formula is opaque: it is internal and may change between versions. */
export interface PrintedTensor extends Omit<PlannedTensor, 'expression'> {
  readonly expression: Readonly<Record<string, unknown>>;
}

export interface PrintedExplanation extends Omit<Explanation, 'expression'> {
  readonly expression: Readonly<Record<string, unknown>>;
}

export interface PrintedShard extends Omit<PlannedShard, 'tensors'> {
  readonly tensors: readonly PrintedTensor[];
}

export interface PrintedPlan extends Omit<MergePlan, 'shards'> {
  readonly shards: readonly PrintedShard[];
}

export interface InspectedCheckpoint extends CheckpointSummary {
  readonly adapter?: AdapterSummary;
}

/** Suggestion, with the experiment in the form that Python's `run_experiment` takes. */
export interface PrintedSuggestion extends Omit<Suggestion, 'experiment'> {
  readonly experiment: Readonly<Record<string, unknown>>;
  /** Command that runs the experiment, with `--out`. */
  readonly next?: string;
}

export interface PrintedPartition extends Partition {
  readonly layerloom: string;
}

/** End of a batch without failures. */
export interface BatchDone extends Omit<BatchResult, 'merges'> {
  readonly event: 'done';
  readonly failed: number;
  readonly next?: string;
}

/** End of an evaluation without failures. */
export interface EvaluationDone extends Omit<EvaluationOutcome, 'experiment'> {
  readonly event: 'done';
  readonly next?: string;
}

export interface SearchDone extends Omit<SearchResult, 'steps'> {
  readonly event: 'done';
}

export interface PlannedBatchMerge
  extends Pick<
    ExperimentMerge,
    'name' | 'language' | 'task' | 'languageExpert' | 'method' | 'configuration'
  > {
  readonly bytes: number;
  readonly shards: number;
}

export interface PlannedBatch {
  readonly cost: BatchCost;
  /** Weights of hub models to download. */
  readonly download: PlannedDownload;
  readonly disk: DiskNeed;
  readonly inPlace: CostInPlace;
  readonly time: {
    /** Estimate at the rate of an earlier run in the directory or store; null without such a run. */
    readonly merging: { readonly seconds: number; readonly by: MeasuredMerging } | null;
    readonly scoring: ScoringTime | null;
  };
  /** Merges in the order in which they finish. */
  readonly stages: readonly { readonly merges: readonly string[]; readonly bytesToWrite: number }[];
  /** Value for `expect` in runs with the same version and experiment. */
  readonly stamp: string;
  readonly tasks: {
    /** Tasks that could not be checked, because the harness is not installed. */
    readonly unchecked: readonly string[];
    readonly failed: readonly { readonly task: string; readonly code: string; readonly message: string }[];
  };
  readonly merges: readonly PlannedBatchMerge[];
  readonly refused: readonly {
    readonly merge: string;
    readonly error: { readonly code: string; readonly message: string };
  }[];
}

export interface EvaluationCommands {
  readonly commands: readonly { readonly model: string; readonly command: string }[];
}

export interface Imported extends Omit<ImportOutcome, 'experiment'> {}

export interface ScoreTables {
  readonly tables: readonly ScoreTable[];
}

export interface WrittenTables {
  readonly out: string;
  /** Names of tables; with several bases, after the name of the base: `llama/table-1`. */
  readonly tables: readonly string[];
}

interface OfMerge {
  readonly 'dry-run': PrintedPlan;
  readonly plain: MergeResult;
}

/** Output of each command, by the first of these options that is given; `plain` without any. */
export interface Printed {
  readonly swap: OfMerge;
  readonly soup: OfMerge;
  readonly merge: { readonly explain: PrintedExplanation } & OfMerge;
  readonly revert: OfMerge;
  readonly apply: OfMerge;
  readonly relayout: OfMerge;
  readonly transplant: OfMerge;
  readonly 'extract-lora': { readonly plain: ExtractionResult };
  readonly analyze: { readonly plain: AnalysisResult };
  readonly suggest: { readonly plain: PrintedSuggestion };
  readonly diff: { readonly plain: Comparison };
  readonly verify: { readonly plain: OutputVerification };
  readonly attest: { readonly plain: Attestation };
  readonly chain: { readonly plain: Chain };
  readonly inspect: { readonly plain: InspectedCheckpoint | AdapterSummary };
  readonly partition: { readonly plain: PrintedPartition };
  readonly batch: { readonly 'dry-run': PlannedBatch; readonly plain: BatchDone };
  readonly evaluate: {
    readonly 'dry-run': EvaluationPlan;
    readonly print: EvaluationCommands;
    readonly import: Imported;
    readonly plain: EvaluationDone;
  };
  readonly search: { readonly 'dry-run': SearchPlan; readonly plain: SearchDone };
  readonly table: { readonly out: WrittenTables; readonly plain: ScoreTables };
  readonly draw: { readonly plain: Drawn };
  readonly rescore: { readonly out: WrittenTables; readonly plain: ScoreTables };
  readonly bundle: { readonly plain: Bundle };
  readonly rebuild: { readonly plain: RebuiltStudy };
  readonly export: { readonly plain: ExportedModel };
  readonly report: { readonly watch: WatchedStudy; readonly plain: WrittenReport };
}
