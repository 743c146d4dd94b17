import type { Proposal } from '../../../../core/measure/analysis/advice/proposal.js';
import type { TopOverlap } from '../../../../core/measure/analysis/advice/top-overlap.js';
import type { Overlap } from '../../../../core/measure/analysis/overlap.js';
import type { Verdict } from '../../../scores/comparing/conclusion.js';
import type { Cell } from '../../../scores/reading/score-table.js';
import type { ScoredModel } from '../../../scores/reading/scored-experiment.js';

export type PageCell = Omit<Cell, 'estimand' | 'source'>;

export interface PageTable {
  readonly id: string;
  readonly title: string;
  readonly caption: string;
  readonly notes: readonly string[];
  readonly derived?: readonly { readonly label: string; readonly value: number; readonly digits: number }[];
  /** Heading of the row labels; default: visible to screen readers only. */
  readonly rowLabel?: string;
  readonly columns: readonly { readonly id: string; readonly label: string }[];
  readonly rows: readonly {
    readonly id: string;
    readonly label: string;
    readonly cells: readonly (PageCell | null)[];
  }[];
  readonly refusals?: readonly string[];
}

export interface PageTask {
  readonly name: string;
  readonly languages: readonly string[];
  /** `metric,filter`; null if results state none. */
  readonly metric: string | null;
  /** `percent` for shares, which are between 0 and 1. */
  readonly unit: 'percent' | 'number';
  readonly digits: number;
  readonly higherIsBetter: boolean;
  /** Reason why no model may be called the best; null if one may. */
  readonly undecided: string | null;
  readonly version: string;
  readonly fewshot: number;
  readonly n: number;
  /**
   * Problems whose texts are in the page: position among the task's problems, and indices in `strings` of
   * question and expected answer.
   */
  readonly kept: readonly {
    readonly at: number;
    readonly id: number;
    readonly question: number;
    readonly target: number;
  }[];
}

export interface PageResult {
  readonly task: number;
  /** Score on the harness's scale; shares are between 0 and 1. */
  readonly value: number | null;
  readonly stderr: number | null;
  readonly n: number;
  /** Correctly answered problems, as a base64 bit set; null if scores are not binary. */
  readonly right: string | null;
  /** Problems with a result, as a base64 bit set; null for all. */
  readonly seen: string | null;
  /**
   * For each kept problem, indices in `strings` of the filtered answer and the response; null for a missing
   * problem. Null without texts.
   */
  readonly answers: readonly (readonly [answer: number, response: number] | null)[] | null;
  /** All sampled answers to each kept problem; null for a single answer each. */
  readonly drawn: readonly (readonly DrawnAnswer[] | null)[] | null;
}

/** `right` is null if the score is neither 0 nor 1. */
export type DrawnAnswer = readonly [answer: number, response: number, right: boolean | null];

/** Consecutive layers of one origin, from the embeddings up. */
export interface Band {
  readonly first: number;
  readonly last: number;
  readonly from: 'task' | 'language' | 'mixed' | 'other';
  readonly label: string;
}

export interface PageModel extends Omit<ScoredModel, 'results'> {
  readonly state: string | null;
  readonly error: string | null;
  readonly cost: Readonly<Record<string, number>>;
  readonly bands: readonly Band[];
  readonly outside: string | null;
  readonly results: readonly PageResult[];
}

export interface PageFinding {
  readonly verdict: Verdict;
  readonly sentence: string;
}

/** Mean scores of a language's pairs, by configuration. */
export interface PageGrid {
  readonly entry: string;
  readonly language: string;
  readonly task: number;
  /** Varying parameters in camel case, values ascending. */
  readonly axes: readonly { readonly name: string; readonly values: readonly string[] }[];
  readonly cells: readonly {
    readonly at: readonly number[];
    readonly variant: string;
    readonly value: number;
    readonly stderr: number | null;
    readonly pairs: number;
  }[];
  /** Indices of cells: the best (null if the problems do not decide) and the default. */
  readonly best: number | null;
  readonly usual: number | null;
  /** Reason why no configuration is called the best; null if one is. */
  readonly undecided: string | null;
  /** Comparison of the best with the default; null without a default, or if problems differ. */
  readonly finding: PageFinding | null;
  /** Score of the configuration that is best on one half of the problems, on the other half. */
  readonly otherHalf: number | null;
}

/** Rows above each threshold, by layer and matrix. */
export interface PageExpert {
  readonly name: string;
  /** Index of the threshold used in the analysis. */
  readonly analysed: number;
  /** Module's short name in the model, its full name, and the published name. */
  readonly columns: readonly { readonly label: string; readonly title: string; readonly published: string }[];
  /** Cells by layer, then column; null if the layer has no such matrix. */
  readonly cells: readonly (readonly (null | {
    readonly rows: number;
    readonly above: readonly number[];
  })[])[];
  readonly meanMav: number;
  readonly inverseMav: number | null;
  /** Shares of the change: in the first layers, the middle, the last layers, and outside the layers. */
  readonly shares: readonly [number, number, number, number];
}

/** Published table of fractions by layer, then column. */
export interface PagePublished {
  readonly name: string;
  readonly columns: readonly string[];
  readonly cells: readonly (readonly (number | null)[])[];
}

export interface PageProposal extends Omit<Proposal, 'common' | 'concerns'> {
  readonly command: string;
  readonly warnings: readonly string[];
}

export interface PageAnalysis {
  readonly base: string;
  readonly rows: string;
  readonly bottom: number;
  readonly top: number;
  readonly stops: readonly number[];
  readonly opening: number;
  readonly experts: readonly PageExpert[];
  readonly published: readonly PagePublished[];
  readonly overlaps: readonly Overlap[];
  /** Overlaps of the largest changes; empty unless requested. */
  readonly topOverlaps: readonly TopOverlap[];
  /** Proposed swaps; empty without pairs of a task and a language expert. */
  readonly proposals: readonly PageProposal[];
  /** Experts' roles in a layer swap, by name. */
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
  readonly written: string;
  readonly languages: readonly string[];
  readonly sentence: string | null;
  readonly verdicts: PageTable | null;
  readonly headline: number | null;
  readonly tables: readonly PageTable[];
  readonly tasks: readonly PageTask[];
  readonly models: readonly PageModel[];
  readonly grids: readonly PageGrid[];
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
  readonly omitted: readonly string[];
  readonly warnings: readonly string[];
  readonly strings: readonly string[];
}

export interface PageComparison {
  readonly a: { readonly name: string; readonly path: string };
  readonly b: { readonly name: string; readonly path: string };
  readonly verdict: string;
  readonly columns: readonly string[];
  /**
   * Relative differences by layer, then column. `other`: different, without a number; null: no such tensor.
   */
  readonly cells: readonly (readonly (number | 'other' | null)[])[];
  readonly most: number;
  readonly tensors: PageTable;
  readonly sideFiles: readonly Fact[];
}
