import { version } from '../../../core/base/files/version.js';
import type { ScoreTable } from '../../scores/reading/score-table.js';
import { longColumns, longRows } from './long-rows.js';

const { table, row, row_label, column, column_label, value, ...facts } = longColumns;

/** A Parquet column has one type, so texts have a separate column beside `value`. */
const types = { table, row, row_label, column, column_label, value, text: 'STRING', ...facts } as const;

/** Formats tables as one Parquet file in long form: a row per filled cell, unrounded, on the shown scale. */
export const parquetScores = async (tables: readonly ScoreTable[]): Promise<Uint8Array> => {
  const rows = longRows(tables).map((row) =>
    typeof row.value === 'number'
      ? { ...row, text: undefined }
      : { ...row, value: undefined, text: row.value },
  );
  const columns = Object.entries(types).map(([name, type]) => ({
    name,
    type,
    data: rows.map((row) => row[name as keyof typeof types] ?? null),
  }));
  // Loaded on demand, because only one format needs it.
  const { writeParquet } = await import('./parquet-library.js');
  return writeParquet(columns, `layerloom version ${version}`);
};
