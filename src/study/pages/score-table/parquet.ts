import { version } from '../../../core/base/files/version.js';
import type { ScoreTable } from '../../scores/reading/score-table.js';
import { type LongRow, longRows } from './long-rows.js';
import type { ParquetColumn } from './parquet-library.js';

const types = {
  table: 'STRING',
  row: 'STRING',
  row_label: 'STRING',
  column: 'STRING',
  column_label: 'STRING',
  value: 'DOUBLE',
  text: 'STRING',
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
} as const satisfies Record<keyof LongRow | 'text', ParquetColumn['type']>;

/**
 * Formats tables as one Parquet file in long form: a row per filled cell, numbers unrounded, on the shown
 * scale.
 */
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
