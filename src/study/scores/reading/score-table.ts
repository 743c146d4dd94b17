/** A figure in a table. */
export interface Cell {
  /** Text, or a number on the scale that is shown (percent for shares, unless the table says otherwise). */
  readonly value: number | string;
  readonly digits: number;
  readonly n?: number;
  /** Standard error on the shown scale: over experts and problems for means, over problems for one model. */
  readonly stderr?: number;
  /** Name of the model, if the cell is a minimum, a maximum, or the score of a single model. */
  readonly model?: string;
  readonly configuration?: string;
  /** Score if the configuration is chosen on one half of the problems and scored on the other. */
  readonly otherHalf?: number;
  /** 95 % interval on the shown scale. It accounts for a choice on the same problems. */
  readonly interval?: readonly [low: number, high: number];
  /**
   * Population that standard error, interval and p describe, such as
   * `task experts, language experts and problems like these`.
   */
  readonly estimand?: string;
  readonly p?: number;
  readonly source: 'computed' | 'imported';
  readonly mark?: 'best';
  /** Warning about the figure, as a sentence. */
  readonly flag?: string;
}

/** A column of a table. */
export interface TableColumn {
  readonly id: string;
  readonly label: string;
  readonly kind: 'text' | 'number';
}

/** A row of a table. */
export interface TableRow {
  readonly id: string;
  readonly label: string;
  /** Cells by column; null if there is no such model or score. */
  readonly cells: readonly (Cell | null)[];
}

/** Figure derived from a table, such as a ratio or difference of columns. */
export interface Derived {
  readonly id: string;
  readonly label: string;
  readonly value: number;
  readonly digits: number;
}

/** Table as data; all formats show the same. */
export interface ScoreTable {
  /** Layout, and the subject if there are several: `table-1`, `table-2/swahili`, `table-1/belebele`. */
  readonly id: string;
  /** For several bases: the base's name, or `mean`. */
  readonly base?: string;
  readonly title: string;
  readonly caption: string;
  readonly notes: readonly string[];
  readonly derived: readonly Derived[];
  readonly columns: readonly TableColumn[];
  readonly rows: readonly TableRow[];
  /** Messages about comparisons refused because problems differ. */
  readonly refusals: readonly string[];
}

type TableParts = Pick<ScoreTable, 'id' | 'title' | 'columns' | 'rows'> & Partial<ScoreTable>;

export const tableOf = ({ id, title, columns, rows, ...parts }: TableParts): ScoreTable => ({
  ...{ id, title, caption: '', notes: [], derived: [], columns, rows, refusals: [] },
  ...parts,
});

export const hasCells = ({ rows }: ScoreTable): boolean =>
  rows.some(({ cells }) => cells.some((cell) => cell !== null));

export const cellText = (cell: Cell | null): string =>
  cell === null ? '' : typeof cell.value === 'string' ? cell.value : fixed(cell.value, cell.digits);

/** Rounds halves up, as printed tables do, also if the binary fraction is slightly below. */
export const fixed = (value: number, digits: number): string => {
  // A double has no meaningful further digits, and toFixed fails at 1e21.
  if (Math.abs(value) >= 1e9) return value.toPrecision(4);
  const text = (value + Math.sign(value) * 1e-9).toFixed(digits);
  return /^-0(\.0*)?$/.test(text) ? text.slice(1) : text;
};

/** Formats a p-value: `p = 0.031`, `p < 0.001`. */
export const pText = (p: number): string => (p < 0.001 ? 'p < 0.001' : `p = ${p.toFixed(3)}`);

/** Marks a row's best numbers, unless all are equal. */
export const markBest = (
  cells: readonly (Cell | null)[],
  isHigherBetter: boolean,
): readonly (Cell | null)[] => {
  const shown = (cell: Cell | null): number | undefined =>
    cell === null || typeof cell.value === 'string' ? undefined : Number(cellText(cell));
  const numbers = cells.map(shown).filter((value) => value !== undefined);
  if (new Set(numbers).size < 2) return cells;
  const best = isHigherBetter ? Math.max(...numbers) : Math.min(...numbers);
  return cells.map((cell) => (cell !== null && shown(cell) === best ? { ...cell, mark: 'best' } : cell));
};
