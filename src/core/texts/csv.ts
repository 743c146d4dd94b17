import Papa from 'papaparse';

/** Limit on a table from outside, as much as 50,000 rows of scores: quotes take the library a second a megabyte. */
export const mostCsvBytes = 4 * 1024 * 1024;

/** A table's cells, and what is wrong with it first. */
export interface CsvTable {
  readonly rows: readonly (readonly string[])[];
  /** The row, from 0, and the reason. */
  readonly fault: { readonly row: number; readonly reason: string } | undefined;
}

/**
 * Parses a table of comma-separated values, or of others that it finds to stand between its values. Rows may have different
 * numbers of cells.
 *
 * @param skipsEmpty true to leave empty lines out
 */
export const parseCsv = (text: string, { skipsEmpty = false } = {}): CsvTable => {
  const { data, errors } = Papa.parse<string[]>(text.replace(/^\ufeff/, ''), { skipEmptyLines: skipsEmpty });
  const fault = errors.find(({ type }) => type === 'Quotes');
  return { rows: data, fault: fault && { row: fault.row ?? 0, reason: fault.message } };
};
