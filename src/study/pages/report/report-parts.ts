import type { ExperimentRecord } from '../../experiment/record/experiment-record.js';
import type { Board } from '../../scores/board.js';
import type { PageAnalysis, PageTable } from '../components/data.js';

/** What a report is made of. */
export interface ReportParts {
  /** The experiment, with all that its tables were made of. */
  readonly board: Board;
  /** The experiment's file, for states and costs; null if there is none. */
  readonly record: ExperimentRecord | null;
  readonly tables: readonly PageTable[];
  readonly analysis: PageAnalysis | null;
  /** Number of layers, if known. */
  readonly layers: number | undefined;
  /** Problems of each task whose texts the page carries. */
  readonly samples: number;
  readonly title: string;
  /** ISO 8601. */
  readonly written: string;
}
