import type { Proposal } from '../../../core/measure/analysis/proposal.js';
import type { Verdict } from '../../scores/conclusion.js';
import type { ScoredModel } from '../../scores/scored-experiment.js';

// The data of the report page: what its file carries as JSON, and what its components draw.

/** A figure of a table; a text in columns of texts. */
export interface PageCell {
  readonly value: number | string;
  /** Decimals shown. */
  readonly digits: number;
  readonly n?: number | undefined;
  readonly stderr?: number | undefined;
  readonly model?: string | undefined;
  readonly configuration?: string | undefined;
  /** The score on the half of the problems that it was not chosen on. */
  readonly otherHalf?: number | undefined;
  readonly interval?: readonly [number, number] | undefined;
  readonly p?: number | undefined;
  readonly mark?: 'best' | undefined;
  /** A doubt about the figure. */
  readonly flag?: string | undefined;
}

/** A table, as `tablesOf` makes it. */
export interface PageTable {
  readonly id: string;
  readonly title: string;
  readonly caption: string;
  readonly notes: readonly string[];
  readonly derived?: readonly { readonly label: string; readonly value: number; readonly digits: number }[];
  /** Heading of the rows' labels. Default: for screen readers only. */
  readonly rowLabel?: string;
  readonly columns: readonly { readonly id: string; readonly label: string }[];
  readonly rows: readonly {
    readonly id: string;
    readonly label: string;
    readonly cells: readonly (PageCell | null)[];
  }[];
  readonly refusals?: readonly string[];
}

/** A task in which models of the experiment have results. */
export interface PageTask {
  readonly name: string;
  /** The languages whose merges are judged by it. */
  readonly languages: readonly string[];
  /** `metric,filter`, or null where results state none. */
  readonly metric: string | null;
  /** Shares are shown in per cent. */
  readonly unit: 'percent' | 'number';
  /** Decimals shown, as in tables. */
  readonly digits: number;
  readonly higherIsBetter: boolean;
  /** Why no model may be called the best; null if one may. */
  readonly undecided: string | null;
  readonly version: string;
  readonly fewshot: number;
  /** Number of problems that any model has a result of. */
  readonly n: number;
  /**
   * The problems whose texts are in the page: their position among the task's problems, and the indices of
   * question and expected answer in `strings`.
   */
  readonly kept: readonly {
    readonly at: number;
    readonly id: number;
    readonly question: number;
    readonly target: number;
  }[];
}

/** A model's result in one task. */
export interface PageResult {
  /** Index of the task. */
  readonly task: number;
  /** In the task's unit: a share is between 0 and 1. Null if the result does not state the metric. */
  readonly value: number | null;
  readonly stderr: number | null;
  readonly n: number;
  /** Problems answered rightly, as base64 of a bit set; null if scores are no right or wrong. */
  readonly right: string | null;
  /** Problems with a result, likewise; null for all of the task's. */
  readonly seen: string | null;
  /**
   * By kept problem of the task: indices of the filtered answer and of the whole response in `strings`, or
   * null where the model has no such problem. Null without texts.
   */
  readonly answers: readonly (readonly [answer: number, response: number] | null)[] | null;
}

/** A run of layers of one origin, from the embeddings on. */
export interface Band {
  readonly first: number;
  readonly last: number;
  readonly from: 'task' | 'language' | 'mixed' | 'other';
  readonly label: string;
}

export interface PageModel extends Omit<ScoredModel, 'results'> {
  readonly state: string | null;
  readonly error: string | null;
  /** Costs by name of `costs`. */
  readonly cost: Readonly<Record<string, number>>;
  readonly bands: readonly Band[];
  readonly outside: string | null;
  readonly results: readonly PageResult[];
}

/** What a comparison of two groups of models says, in words. */
export interface PageFinding {
  readonly verdict: Verdict;
  readonly sentence: string;
}

/** The configurations of one entry in one language: means over its pairs. */
export interface PageGrid {
  readonly entry: string;
  readonly language: string;
  readonly task: number;
  /** What varies: parameters in camel case, with their values in ascending order. */
  readonly axes: readonly { readonly name: string; readonly values: readonly string[] }[];
  readonly cells: readonly {
    /** Index of the value on each axis. */
    readonly at: readonly number[];
    readonly variant: string;
    readonly value: number;
    readonly stderr: number | null;
    readonly pairs: number;
  }[];
  /** Indices of cells; null for the best if problems cannot tell. */
  readonly best: number | null;
  readonly usual: number | null;
  /** Why there is no best; null if there is one. */
  readonly undecided: string | null;
  /** The best against the default; null where there is no default, or results are not of the same problems. */
  readonly finding: PageFinding | null;
  /** Score on the other half of the problems of what is best on one half: free of the luck of choosing. */
  readonly otherHalf: number | null;
}

/** One expert's rows above each threshold, by layer and matrix. */
export interface PageExpert {
  readonly name: string;
  /** Index of the threshold at which the expert was analysed, that of its other files. */
  readonly analysed: number;
  /** Name as the model has it, the whole module's, and the name in published tables. */
  readonly columns: readonly { readonly label: string; readonly title: string; readonly published: string }[];
  /** By layer, then column; null where the layer has no such matrix. */
  readonly cells: readonly (readonly (null | {
    readonly rows: number;
    readonly above: readonly number[];
  })[])[];
  readonly meanMav: number;
  readonly inverseMav: number | null;
  /** Shares of the change in the first layers, the middle, the last layers and outside. */
  readonly shares: readonly [number, number, number, number];
}

/** A published table of fractions, by layer, then column. */
export interface PagePublished {
  readonly name: string;
  readonly columns: readonly string[];
  readonly cells: readonly (readonly (number | null)[])[];
}

/** Overlap of the changes of two experts: in each layer, outside the layers (null), and of the whole model. */
export interface PageOverlap {
  readonly experts: readonly [string, string];
  readonly parts: readonly OverlapFigures[];
  readonly whole: OverlapFigures;
}

export interface OverlapFigures {
  readonly layer: number | null;
  readonly cosine: number | null;
  readonly signAgreement: number | null;
  readonly rowsAboveInBoth: number;
}

/** Overlap of the largest changes of two experts, by layer. */
export interface PageTopOverlap {
  readonly experts: readonly [string, string];
  readonly topShare: number;
  readonly parts: readonly TopFigures[];
  readonly whole: TopFigures;
}

export interface TopFigures {
  readonly layer: number | null;
  readonly rows: number;
  readonly inBoth: number;
  readonly shared: number | null;
  readonly chance: number | null;
}

/** The layers that are proposed for a pair of experts, with the command of the swap. */
export interface PageProposal extends Omit<Proposal, 'common' | 'concerns'> {
  readonly command: string;
  readonly warnings: readonly string[];
}

export interface PageAnalysis {
  readonly base: string;
  readonly rows: string;
  readonly bottom: number;
  readonly top: number;
  /** Thresholds in ascending order. */
  readonly stops: readonly number[];
  /** Index of the threshold at which the page opens. */
  readonly opening: number;
  readonly experts: readonly PageExpert[];
  readonly published: readonly PagePublished[];
  readonly overlaps: readonly PageOverlap[];
  /** None where no share of the largest changes was asked for. */
  readonly topOverlaps: readonly PageTopOverlap[];
  /** None without pairs of a task and a language expert. */
  readonly proposals: readonly PageProposal[];
  /** Roles of experts in a layer swap, by name; those without one are not in it. */
  readonly roles: Readonly<Record<string, 'task' | 'language'>>;
  readonly advice: readonly string[];
}

export interface Fact {
  readonly label: string;
  readonly value: string;
}

export interface ReportData {
  readonly layerloom: string;
  readonly title: string;
  /** ISO 8601. */
  readonly written: string;
  readonly languages: readonly string[];
  readonly sentence: string | null;
  /** Index of the headline table in `tables`. */
  readonly headline: number | null;
  readonly tables: readonly PageTable[];
  readonly tasks: readonly PageTask[];
  readonly models: readonly PageModel[];
  readonly grids: readonly PageGrid[];
  /** The costs that are known, by key of `PageModel.cost`. */
  readonly costs: readonly {
    readonly key: string;
    readonly label: string;
    readonly unit: 'bytes' | 'seconds' | 'count';
  }[];
  readonly regressions: PageTable | null;
  readonly analysis: PageAnalysis | null;
  readonly provenance: readonly Fact[];
  readonly inputs: readonly Fact[];
  readonly commands: readonly string[];
  /** What the page leaves out, and where that is. */
  readonly omitted: readonly string[];
  readonly warnings: readonly string[];
  /** Texts, each once. */
  readonly strings: readonly string[];
}

/** A comparison of two models. */
export interface PageComparison {
  readonly a: { readonly name: string; readonly path: string };
  readonly b: { readonly name: string; readonly path: string };
  /** The result in one line. */
  readonly verdict: string;
  readonly columns: readonly string[];
  /** Relative differences by layer, then column; `other` where a tensor differs and has no such number, null where a layer has no such tensor. */
  readonly cells: readonly (readonly (number | 'other' | null)[])[];
  /** The value of the strongest colour. */
  readonly most: number;
  readonly tensors: PageTable;
  readonly sideFiles: readonly Fact[];
}
