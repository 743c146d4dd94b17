/** A figure of a table. */
export interface Cell {
  /**
   * A number on the scale shown (percent for shares, unless the table says otherwise), or a text in a column
   * of texts.
   */
  readonly value: number | string;
  readonly digits: number;
  /** Number of models summarised. */
  readonly n?: number;
  /**
   * Standard error on the scale shown: over experts and problems for means, over problems for one model's
   * score.
   */
  readonly stderr?: number;
  /** The model, for minima, maxima and single models. */
  readonly model?: string;
  /** The chosen configuration's name in the experiment. */
  readonly configuration?: string;
  /** Score on one half of the problems if the other half chooses. */
  readonly otherHalf?: number;
  /** 95 % interval on the scale shown. If the same problems chose the figure, it includes the choice. */
  readonly interval?: readonly [low: number, high: number];
  /**
   * The population that standard error, interval and p describe:
   * `task experts, language experts and problems like these`.
   */
  readonly estimand?: string;
  readonly p?: number;
  readonly source: 'computed' | 'imported';
  /** `best`: the best figure of its row. */
  readonly mark?: 'best';
  /** A doubt about the figure, in a sentence. */
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
  /** Cells by column; null if there is no such model, or no score. */
  readonly cells: readonly (Cell | null)[];
}

/** A figure derived from a table: a ratio of columns, a difference. */
export interface Derived {
  readonly id: string;
  readonly label: string;
  readonly value: number;
  readonly digits: number;
}

/** A table as data, from which every format is made. */
export interface ScoreTable {
  /** The layout, with its subject if there are several: `table-1`, `table-2/swahili`, `table-1/belebele`. */
  readonly id: string;
  /** For tables of several bases: the base's name, or `mean` for the means over bases. */
  readonly base?: string;
  readonly title: string;
  readonly caption: string;
  readonly notes: readonly string[];
  readonly derived: readonly Derived[];
  readonly columns: readonly TableColumn[];
  readonly rows: readonly TableRow[];
  /** Messages about refused comparisons: results are not of the same problems. */
  readonly refusals: readonly string[];
}

export const hasCells = ({ rows }: ScoreTable): boolean =>
  rows.some(({ cells }) => cells.some((cell) => cell !== null));

export const cellText = (cell: Cell | null): string =>
  cell === null ? '' : typeof cell.value === 'string' ? cell.value : fixed(cell.value, cell.digits);

/** Rounds halves up, as printed tables do, although binary fractions hide them. */
export const fixed = (value: number, digits: number): string => {
  // Digits beyond a double's precision mean nothing, and toFixed fails at 1e21.
  if (Math.abs(value) >= 1e9) return value.toPrecision(4);
  const text = (value + Math.sign(value) * 1e-9).toFixed(digits);
  return /^-0(\.0*)?$/.test(text) ? text.slice(1) : text;
};

/** Formats a p-value: `p = 0.031`, `p < 0.001`. */
export const pText = (p: number): string => (p < 0.001 ? 'p < 0.001' : `p = ${p.toFixed(3)}`);

/** Marks the best numbers of a row, unless all are equal. */
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
