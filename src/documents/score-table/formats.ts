import { LayerloomError } from '../../base/errors.js';
import { nearest } from '../../recipe/nearest.js';

/** The formats of `formatTables`. */
export const tableFormats = ['text', 'markdown', 'csv', 'latex', 'json'] as const;

/** A format that tables of scores are printed in. */
export type TableFormat = (typeof tableFormats)[number];

/** @throws LayerloomError INVALID_PARAMETER for another format */
export const checkTableFormat = (format: string): void => {
  if ((tableFormats as readonly string[]).includes(format)) return;
  throw new LayerloomError('INVALID_PARAMETER', {
    parameter: 'format',
    value: format,
    expected: tableFormats.join(', '),
    nearest: nearest(String(format), tableFormats),
  });
};
