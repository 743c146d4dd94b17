import Papa from 'papaparse';

/**
 * Formats rows as CSV. Escapes names that begin with `=`, because spreadsheets would run them as formulas.
 */
export const encodeCsv = (
  fields: readonly string[],
  rows: readonly (readonly (string | number)[])[],
): string => Papa.unparse({ fields: [...fields], data: [...rows] }, { newline: '\n', escapeFormulae: true });
