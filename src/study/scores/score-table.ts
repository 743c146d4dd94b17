/** One figure of a table. */
export interface Cell {
  /** On the scale shown (percent for shares, unless the table says otherwise); a text in columns of texts. */
  readonly value: number | string;
  /** Number of digits behind the point. */
  readonly digits: number;
  /** Number of models that it summarises. */
  readonly n?: number;
  /** Standard error on the scale shown: over experts and problems for means, over problems for the score of one model. */
  readonly stderr?: number;
  /** The model whose score it is, for minima, maxima and single models. */
  readonly model?: string;
  /** The configuration that was chosen, by its name in the experiment. */
  readonly configuration?: string;
  /**
   * For the best of several configurations: its score when chosen on one half of the problems and scored on the
   * other, without the luck that helped to choose it.
   */
  readonly otherHalf?: number;
  /** 95 % interval on the scale shown; of a figure that was chosen by the same problems, the choice included. */
  readonly interval?: readonly [low: number, high: number];
  /** What standard error, interval and p-value are about: `task experts, language experts and problems like these`. */
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
  /** One for each column. Null: there is no such model, or it was not scored. */
  readonly cells: readonly (Cell | null)[];
}

/** A figure that a table leads to: a ratio of columns, a difference. */
export interface Derived {
  readonly id: string;
  readonly label: string;
  readonly value: number;
  readonly digits: number;
}

/** A table as data. Formats (text, Markdown, CSV, LaTeX, JSON, pages) are made of it. */
export interface ScoreTable {
  /** The layout, and its subject where an experiment has several: `table-1`, `table-2/swahili`, `table-1/belebele`. */
  readonly id: string;
  /** Of tables of several bases: the name of the base, or `mean` for the means over them. */
  readonly base?: string;
  readonly title: string;
  readonly caption: string;
  readonly notes: readonly string[];
  readonly derived: readonly Derived[];
  readonly columns: readonly TableColumn[];
  readonly rows: readonly TableRow[];
  /** Messages of comparisons that could not be made, since results are not of the same problems. */
  readonly refusals: readonly string[];
}

export const hasCells = ({ rows }: ScoreTable): boolean =>
  rows.some(({ cells }) => cells.some((cell) => cell !== null));

/** Returns the figure of a cell as text: `32.4`; empty for a cell that has none. */
export const cellText = (cell: Cell | null): string =>
  cell === null ? '' : typeof cell.value === 'string' ? cell.value : fixed(cell.value, cell.digits);

/** Formats a number with so many digits; halves that binary fractions hide are rounded up, as printed tables do. */
export const fixed = (value: number, digits: number): string => {
  const text = (value + Math.sign(value) * 1e-9).toFixed(digits);
  return /^-0(\.0*)?$/.test(text) ? text.slice(1) : text;
};

/** Formats a p-value: `p = 0.031`, `p < 0.001`. */
export const pText = (p: number): string => (p < 0.001 ? 'p < 0.001' : `p = ${p.toFixed(3)}`);

/** Marks the best numbers of a row, unless all are equal: the largest, or the smallest where less is better. */
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
