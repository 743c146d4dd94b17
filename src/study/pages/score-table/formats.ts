import { LayerloomError } from '../../../core/base/errors/errors.js';
import { nearest } from '../../../core/base/nearest.js';

export const tableFormats = ['text', 'markdown', 'csv', 'latex', 'json', 'parquet'] as const;

/** Format of score tables. */
export type TableFormat = (typeof tableFormats)[number];

/** Text formats. */
export type TextFormat = Exclude<TableFormat, 'parquet'>;

/** Results of `formatTables` by format. */
export type FormattedTables = Readonly<Record<TextFormat, string>> & {
  readonly parquet: Promise<Uint8Array>;
};

/** @throws INVALID_PARAMETER for an unknown format */
export const checkTableFormat = (format: string): void => {
  if ((tableFormats as readonly string[]).includes(format)) return;
  throw new LayerloomError('INVALID_PARAMETER', {
    parameter: 'format',
    value: format,
    expected: tableFormats.join(', '),
    nearest: nearest(String(format), tableFormats),
  });
};
