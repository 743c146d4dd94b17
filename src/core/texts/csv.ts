import Papa from 'papaparse';

/**
 * Limit on a table from outside, enough for 50,000 rows of scores: the library needs a second per megabyte
 * with quotes.
 */
export const mostCsvBytes = 4 * 1024 * 1024;

/** The cells of a table and its first fault. */
export interface CsvTable {
  readonly rows: readonly (readonly string[])[];
  /** Row from 0, and reason. */
  readonly fault: { readonly row: number; readonly reason: string } | undefined;
}

/**
 * Parses a table separated by commas, or by another delimiter that the library detects. Rows may differ in
 * length.
 *
 * @param skipsEmpty true to leave out empty lines
 */
export const parseCsv = (text: string, { skipsEmpty = false } = {}): CsvTable => {
  const { data, errors } = Papa.parse<string[]>(text.replace(/^\ufeff/, ''), { skipEmptyLines: skipsEmpty });
  const fault = errors.find(({ type }) => type === 'Quotes');
  return { rows: data, fault: fault && { row: fault.row ?? 0, reason: fault.message } };
};
