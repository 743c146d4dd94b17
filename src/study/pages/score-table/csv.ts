import { visibleLine } from '../../../core/base/errors/visible.js';
import type { ScoreTable } from '../../scores/reading/score-table.js';
import { encodeCsv } from '../encode-csv.js';
import { type LongRow, longColumns, longRows } from './long-rows.js';

const fields = Object.keys(longColumns) as (keyof LongRow)[];

/** First fields of every CSV of tables. Layerloom recognises its own files by them. */
export const csvScoresStart = fields.slice(0, 5).join(',');

/** Formats tables as one CSV: a line per filled cell, 12 digits, on the shown scale. */
export const csvScores = (tables: readonly ScoreTable[]): string =>
  encodeCsv(
    fields,
    longRows(tables).map((row) => fields.map((field) => shown(row[field]))),
  );

const shown = (value: string | number | boolean | undefined): string | number => {
  if (typeof value === 'number') return Number(value.toPrecision(12));
  if (typeof value === 'boolean') return value ? 'yes' : '';
  return visibleLine(value ?? '');
};
