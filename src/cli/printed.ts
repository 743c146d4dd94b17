import type { SearchResult } from '../api/search-experiment.js';
import type { ExportedModel } from '../core/conversion/export-model.js';
import type { MergeResult } from '../core/engine/run-plan.js';
import type { Comparison } from '../core/measure/comparison/comparison.js';
import type { ExtractionResult } from '../core/measure/extraction/extraction.js';
import type { Partition } from '../core/measure/partition/partition.js';
import type { OutputVerification } from '../core/measure/verification/verification.js';
import type { Explanation } from '../core/plan/compile/explanation.js';
import type { MergePlan, PlannedDownload, PlannedShard, PlannedTensor } from '../core/plan/plan.js';
import type { DiskNeed } from '../study/batch/check-batch.js';
import type { BatchCost } from '../study/batch/cost.js';
import type { BatchResult } from '../study/batch/run-batch.js';
import type { ExperimentMerge } from '../study/experiment/file/expand.js';
import type { CostInPlace } from '../study/experiment/in-place/cost-in-place.js';
import type { MeasuredMerging } from '../study/experiment/measured-merging.js';
import type { EvaluationOutcome } from '../study/experiment/scoring/evaluate-experiment.js';
import type { ImportOutcome } from '../study/experiment/scoring/import-results.js';
import type { EvaluationPlan, ScoringTime } from '../study/experiment/scoring/plan-evaluation.js';
import type { AnalysisResult } from '../study/pages/analysis/write-analysis.js';
import type { WrittenReport } from '../study/pages/report/write-report.js';
import type { WatchedStudy } from '../study/pages/study/watch-study.js';
import type { ScoreTable } from '../study/scores/score-table.js';
import type { SearchPlan } from '../study/search/plan-search.js';
import type { CheckpointSummary } from './text/inspect.js';
import type { AdapterSummary } from './text/inspect-adapter.js';

// What commands print with `--json`: the document, or behind events the last line. The types of the Python package
// are made of these (scripts/python-results.mjs).

/** A tensor of a plan. Its formula is for layerloom itself, and changes with it. */
export interface PrintedTensor extends Omit<PlannedTensor, 'expression'> {
  readonly expression: Readonly<Record<string, unknown>>;
}

/** How a merge computes a tensor. */
export interface PrintedExplanation extends Omit<Explanation, 'expression'> {
  readonly expression: Readonly<Record<string, unknown>>;
}

/** A file of weights of a plan. */
export interface PrintedShard extends Omit<PlannedShard, 'tensors'> {
  readonly tensors: readonly PrintedTensor[];
}

/** A dry run of a merge. */
export interface PrintedPlan extends Omit<MergePlan, 'shards'> {
  readonly shards: readonly PrintedShard[];
}

/** A checkpoint, and the adapter of `BASE+ADAPTER`. */
export interface InspectedCheckpoint extends CheckpointSummary {
  readonly adapter?: AdapterSummary;
}

/** The content of `partition.json`. */
export interface PrintedPartition extends Partition {
  /** Version of layerloom. */
  readonly layerloom: string;
}

/** The end of a batch, all of whose merges are there. */
export interface BatchDone extends Omit<BatchResult, 'merges'> {
  readonly event: 'done';
  readonly failed: number;
  /** The command that comes next. */
  readonly next?: string;
}

/** The end of an evaluation, all of whose models have their scores. */
export interface EvaluationDone extends Omit<EvaluationOutcome, 'experiment'> {
  readonly event: 'done';
  /** The command that comes next. */
  readonly next?: string;
}

/** The end of a search. */
export interface SearchDone extends Omit<SearchResult, 'steps'> {
  readonly event: 'done';
}

/** What a merge of a batch would be. */
export interface PlannedBatchMerge
  extends Pick<
    ExperimentMerge,
    'name' | 'language' | 'task' | 'languageExpert' | 'method' | 'configuration'
  > {
  readonly bytes: number;
  /** Number of its shards. */
  readonly shards: number;
}

/** A dry run of a batch. */
export interface PlannedBatch {
  readonly cost: BatchCost;
  /** Weights of models of the hub that are needed and not here. */
  readonly download: PlannedDownload;
  readonly disk: DiskNeed;
  /** Of merges that are not written: what scoring them in place makes. */
  readonly inPlace: CostInPlace;
  readonly time: {
    /** At the rate of an earlier run over the same directory or store; null without one. */
    readonly merging: { readonly seconds: number; readonly by: MeasuredMerging } | null;
    readonly scoring: ScoringTime | null;
  };
  /** The order in which merges are finished. */
  readonly stages: readonly { readonly merges: readonly string[]; readonly bytesToWrite: number }[];
  /** What runs of the same version on the same experiment are to `expect`. */
  readonly stamp: string;
  readonly tasks: {
    /** Tasks that only the harness knows, where it is not installed. */
    readonly unchecked: readonly string[];
    readonly failed: readonly { readonly task: string; readonly code: string; readonly message: string }[];
  };
  readonly merges: readonly PlannedBatchMerge[];
  readonly refused: readonly {
    readonly merge: string;
    readonly error: { readonly code: string; readonly message: string };
  }[];
}

/** Commands that would score models. */
export interface EvaluationCommands {
  readonly commands: readonly { readonly model: string; readonly command: string }[];
}

/** Results of the harness that were taken into an experiment. */
export interface Imported extends Omit<ImportOutcome, 'experiment'> {}

/** Tables of scores. */
export interface ScoreTables {
  readonly tables: readonly ScoreTable[];
}

/** A file of tables of scores. */
export interface WrittenTables {
  readonly out: string;
  /** Their names, with the base where there are several: `llama/table-1`. */
  readonly tables: readonly string[];
}

interface OfMerge {
  readonly 'dry-run': PrintedPlan;
  readonly plain: MergeResult;
}

/** By command what it prints with an option, the first of these that is given, and what without (`plain`, the last). */
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
  readonly diff: { readonly plain: Comparison };
  readonly verify: { readonly plain: OutputVerification };
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
  readonly export: { readonly plain: ExportedModel };
  readonly report: { readonly watch: WatchedStudy; readonly plain: WrittenReport };
}
