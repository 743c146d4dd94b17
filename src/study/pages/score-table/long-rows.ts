import type { Cell, ScoreTable } from '../../scores/reading/score-table.js';

/** Columns and their types in Parquet. */
export const longColumns = {
  table: 'STRING',
  row: 'STRING',
  row_label: 'STRING',
  column: 'STRING',
  column_label: 'STRING',
  value: 'DOUBLE',
  n: 'INT32',
  stderr: 'DOUBLE',
  low: 'DOUBLE',
  high: 'DOUBLE',
  p: 'DOUBLE',
  other_half: 'DOUBLE',
  model: 'STRING',
  configuration: 'STRING',
  source: 'STRING',
  best: 'BOOLEAN',
  flag: 'STRING',
  estimand: 'STRING',
  base: 'STRING',
} as const;

type ParquetTypes = { STRING: string; DOUBLE: number; INT32: number; BOOLEAN: boolean };

type Columns = { readonly [Column in keyof typeof longColumns]: ParquetTypes[(typeof longColumns)[Column]] };

type RequiredColumn = 'table' | 'row' | 'row_label' | 'column' | 'source' | 'best';

/** Row in a long table: a filled cell with all its facts, or a derived figure. */
export type LongRow = Pick<Columns, RequiredColumn> & { readonly value: Cell['value'] } & {
  readonly [Column in Exclude<keyof Columns, RequiredColumn | 'value'>]?: Columns[Column] | undefined;
};

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
