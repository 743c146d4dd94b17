import type { ExperimentRecord } from '../../experiment/record/experiment-record.js';
import type { Board } from '../../scores/boards/board.js';
import type { PageAnalysis, PageTable } from '../components/data/data.js';

export interface ReportSections {
  readonly board: Board;
  readonly record: ExperimentRecord | null;
  readonly tables: readonly PageTable[];
  readonly analysis: PageAnalysis | null;
  readonly layers: number | undefined;
  readonly samples: number;
  readonly title: string;
  readonly written: string;
}
