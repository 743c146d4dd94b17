import { visible } from '../core/base/errors/visible.js';
import { csvScores } from '../study/pages/score-table/csv.js';
import {
  checkTableFormat,
  type FormattedTables,
  type TableFormat,
} from '../study/pages/score-table/formats.js';
import { latexScores } from '../study/pages/score-table/latex.js';
import { markdownScores } from '../study/pages/score-table/markdown.js';
import { parquetScores } from '../study/pages/score-table/parquet.js';
import { plainScores } from '../study/pages/score-table/plain.js';
import type { ScoreTable } from '../study/scores/reading/score-table.js';

const formats: {
  readonly [Format in TableFormat]: (
    tables: readonly ScoreTable[],
    width?: number,
  ) => FormattedTables[Format];
} = {
  text: (tables, width) => tables.map((table) => plainScores(table, width)).join('\n\n'),
  markdown: (tables) => tables.map(markdownScores).join('\n\n'),
  csv: csvScores,
  latex: (tables) => ['% Needs \\usepackage{booktabs}.', ...tables.map(latexScores)].join('\n\n'),
  json: (tables) => visible(JSON.stringify({ tables }, null, 2)),
  parquet: parquetScores,
};

/**
 * Formats tables: as text for a terminal, Markdown, CSV (one line per cell), LaTeX (booktabs), JSON, or the
 * bytes of a Parquet file (one row per cell). Control characters in names are escaped, except in Parquet.
 *
 * @param width of the terminal, for text: columns of a wider table continue below. Default: no limit
 * @throws LayerloomError INVALID_PARAMETER for an unknown format
 */
export const formatTables = <Format extends TableFormat>(
  tables: readonly ScoreTable[],
  format: Format,
  width?: number,
): FormattedTables[Format] => {
  checkTableFormat(format);
  return formats[format](tables, width);
};
