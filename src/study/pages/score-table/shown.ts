import { visibleLine } from '../../../core/base/errors/visible.js';
import {
  type Cell,
  cellText,
  fixed,
  type ScoreTable,
  type TableColumn,
} from '../../scores/reading/score-table.js';

export interface Shown {
  readonly value: string;
  readonly stderr: string | undefined;
  readonly interval: readonly [low: string, high: string] | undefined;
  /** Score of the configuration that is best on one half of the problems, on the other half. */
  readonly otherHalf: string | undefined;
  readonly isBest: boolean;
  /** True for an imported figure in a table that also has computed ones. */
  readonly isForeign: boolean;
}

const nothing: Shown = {
  value: '',
  stderr: undefined,
  interval: undefined,
  otherHalf: undefined,
  isBest: false,
  isForeign: false,
};

export const shownCell = (cell: Cell | null, { hasComputed }: { readonly hasComputed: boolean }): Shown => {
  if (cell === null) return nothing;
  const { digits, stderr, interval, otherHalf, mark, source } = cell;
  return {
    value: visibleLine(cellText(cell)),
    stderr: stderr === undefined ? undefined : fixed(stderr, digits),
    // Texts show the error or the interval; data formats show both.
    interval:
      interval === undefined || stderr !== undefined
        ? undefined
        : [fixed(interval[0], digits), fixed(interval[1], digits)],
    otherHalf: otherHalf === undefined ? undefined : fixed(otherHalf, digits),
    isBest: mark === 'best',
    isForeign: source === 'imported' && hasComputed,
  };
};

const sources = ({ rows }: ScoreTable): Set<Cell['source']> =>
  new Set(rows.flatMap(({ cells }) => cells.flatMap((cell) => cell?.source ?? [])));

export const hasComputed = (table: ScoreTable): boolean => sources(table).has('computed');

/** Returns a column's label, with the number of models if it is above 1 and equal in all cells. */
export const headOf = ({ rows }: ScoreTable, { label, kind }: TableColumn, at: number): string => {
  const counts = new Set(rows.flatMap(({ cells }) => cells[at]?.n ?? []));
  const [n] = counts;
  const shown = kind === 'number' && counts.size === 1 && n !== undefined && n > 1;
  return visibleLine(shown ? `${label} (n = ${n})` : label);
};

export const linesBelow = (table: ScoreTable, best: string): string[] => {
  const cells = table.rows.flatMap(({ cells: of }) => of).filter((cell) => cell !== null);
  const own = sources(table);
  const signs = [
    cells.some(({ mark }) => mark === 'best')
      ? `${best}: the best figure of its row; this is not a test.`
      : '',
    cells.some(({ stderr }) => stderr !== undefined)
      ? '±: standard error. For a mean over experts, it includes their variance; for one model, only that of problems. Intervals are in the table `intervals`.'
      : '',
    cells.some(({ interval }) => interval !== undefined)
      ? 'In parentheses: 95 % interval. If the figure was chosen by the same problems, the interval accounts for the choice.'
      : '',
    own.size > 1 ? '†: imported, not computed from results here.' : '',
    own.has('imported') && own.size === 1 ? 'All figures are imported, not computed from results here.' : '',
  ];
  return [
    ...table.derived.map(({ label, value, digits }) => `${label}: ${fixed(value, digits)}.`),
    ...table.notes,
    ...signs.filter((sign) => sign !== ''),
  ].map(visibleLine);
};
