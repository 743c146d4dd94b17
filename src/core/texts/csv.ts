import Papa from 'papaparse';

/** Room for 50,000 rows of scores. With quotes, the library takes a second per megabyte. */
export const mostCsvBytes = 4 * 1024 * 1024;

export interface CsvTable {
  readonly rows: readonly (readonly string[])[];
  /** The faulty row, from 0, and the reason. */
  readonly fault: { readonly row: number; readonly reason: string } | undefined;
}

/** The library detects the delimiter, such as a comma. Rows may differ in length. */
export const parseCsv = (text: string, { skipsEmpty = false } = {}): CsvTable => {
  const { data, errors } = Papa.parse<string[]>(text.replace(/^\ufeff/, ''), { skipEmptyLines: skipsEmpty });
  const fault = errors.find(({ type }) => type === 'Quotes');
  return { rows: data, fault: fault && { row: fault.row ?? 0, reason: fault.message } };
};
