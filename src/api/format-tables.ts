import { visible } from '../base/visible.js';
import { csvScores } from '../documents/score-table/csv.js';
import { checkTableFormat, type TableFormat } from '../documents/score-table/formats.js';
import { latexScores } from '../documents/score-table/latex.js';
import { markdownScores } from '../documents/score-table/markdown.js';
import { plainScores } from '../documents/score-table/plain.js';
import type { ScoreTable } from '../scores/score-table.js';

const formats = {
  text: (tables: readonly ScoreTable[], width?: number) =>
    tables.map((table) => plainScores(table, width)).join('\n\n'),
  markdown: (tables: readonly ScoreTable[]) => tables.map(markdownScores).join('\n\n'),
  csv: csvScores,
  latex: (tables: readonly ScoreTable[]) =>
    ['% Needs \\usepackage{booktabs}.', ...tables.map(latexScores)].join('\n\n'),
  json: (tables: readonly ScoreTable[]) => visible(JSON.stringify({ tables }, null, 2)),
} satisfies Record<TableFormat, (tables: readonly ScoreTable[], width?: number) => string>;

/**
 * Formats tables: for a terminal, as Markdown, as CSV (a line a cell), as LaTeX (booktabs) or as JSON. Control
 * characters of names are escaped.
 *
 * @param width columns of the terminal, for text: a wider table continues below with its further columns. Default:
 *   no limit
 * @throws LayerloomError INVALID_PARAMETER for another format
 */
export const formatTables = (tables: readonly ScoreTable[], format: TableFormat, width?: number): string => {
  checkTableFormat(format);
  return formats[format](tables, width);
};
