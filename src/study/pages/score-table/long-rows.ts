import type { Cell, ScoreTable } from '../../scores/reading/score-table.js';

/** A row in a long table: a filled cell with all its facts, or a derived figure. */
export interface LongRow {
  readonly table: string;
  readonly row: string;
  readonly row_label: string;
  readonly column: string;
  readonly column_label?: string | undefined;
  readonly value: number | string;
  readonly n?: number | undefined;
  readonly stderr?: number | undefined;
  readonly low?: number | undefined;
  readonly high?: number | undefined;
  readonly p?: number | undefined;
  readonly other_half?: number | undefined;
  readonly model?: string | undefined;
  readonly configuration?: string | undefined;
  readonly source: string;
  readonly best: boolean;
  readonly flag?: string | undefined;
  readonly estimand?: string | undefined;
  readonly base?: string | undefined;
}

/** Converts tables to long form: for each table, a row per filled cell, then derived figures. */
export const longRows = (tables: readonly ScoreTable[]): LongRow[] =>
  tables.flatMap((table) => [
    ...table.rows.flatMap(({ id, label, cells }) =>
      cells.flatMap((cell, at): LongRow[] => {
        const column = table.columns[at];
        if (cell === null || column === undefined) return [];
        const place = { column: column.id, column_label: column.label, base: table.base };
        return [{ table: table.id, row: id, row_label: label, ...place, ...figures(cell) }];
      }),
    ),
    ...table.derived.map(
      ({ id, label, value }): LongRow => ({
        ...{ table: table.id, row: id, row_label: label, column: 'derived', base: table.base },
        ...{ value, source: 'computed', best: false },
      }),
    ),
  ]);

const figures = ({ value, n, stderr, interval, p, otherHalf, model, configuration, ...cell }: Cell) => ({
  ...{ value, n, stderr, low: interval?.[0], high: interval?.[1], p, other_half: otherHalf },
  ...{ model, configuration, source: cell.source, best: cell.mark === 'best' },
  ...{ flag: cell.flag, estimand: cell.estimand },
});
