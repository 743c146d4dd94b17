import Papa from 'papaparse';

/** Maximum size; 50,000 rows of scores fit. Quoted fields take a second per megabyte to parse. */
export const mostCsvBytes = 4 * 1024 * 1024;

export interface CsvTable {
  readonly rows: readonly (readonly string[])[];
  readonly fault: { readonly row: number; readonly reason: string } | undefined;
}

/** Parses CSV with any delimiter, which the library detects. Rows may differ in length. */
export const parseCsv = (text: string, { skipsEmpty = false } = {}): CsvTable => {
  const { data, errors } = Papa.parse<string[]>(text.replace(/^\ufeff/, ''), { skipEmptyLines: skipsEmpty });
  const fault = errors.find(({ type }) => type === 'Quotes');
  return { rows: data, fault: fault && { row: fault.row ?? 0, reason: fault.message } };
};
