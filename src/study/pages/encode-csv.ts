import Papa from 'papaparse';

/** Formats rows as CSV. A spreadsheet would run a name beginning with = as a formula, so that is escaped. */
export const encodeCsv = (
  fields: readonly string[],
  rows: readonly (readonly (string | number)[])[],
): string => Papa.unparse({ fields: [...fields], data: [...rows] }, { newline: '\n', escapeFormulae: true });
