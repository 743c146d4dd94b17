import { visibleLine } from '../../../core/base/errors/visible.js';
import type { ScoreTable } from '../../scores/reading/score-table.js';
import { encodeCsv } from '../encode-csv.js';
import { type LongRow, longRows } from './long-rows.js';

const fields = [
  'table',
  'row',
  'row_label',
  'column',
  'column_label',
  'value',
  'n',
  'stderr',
  'low',
  'high',
  'p',
  'other_half',
  'model',
  'configuration',
  'source',
  'best',
  'flag',
  'estimand',
  'base',
] as const satisfies readonly (keyof LongRow)[];

/** First fields of every CSV of tables, by which layerloom recognises its own. */
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
