import type { ScoreTable } from '../../scores/score-table.js';
import { visibleLine } from '../../visible.js';
import { plainCell } from './plain.js';
import { hasComputed, headOf, linesBelow, shownCell } from './shown.js';

/** Escapes what Markdown would take for its own signs, in text of one line. */
const escaped = (text: string): string =>
  visibleLine(text).replace(/[\\`*_{}[\]<>|#~]/g, (sign) => `\\${sign}`);

const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;

/** Formats a table as GitHub's Markdown, the best figure of a row in bold. */
export const markdownScores = (table: ScoreTable): string => {
  const computed = hasComputed(table);
  const rows = table.rows.map(({ label, cells }) =>
    row([
      escaped(label),
      ...cells.map((cell) => {
        const shown = shownCell(cell, { hasComputed: computed });
        const text = escaped(plainCell({ ...shown, isBest: false }));
        return shown.isBest ? `**${text}**` : text;
      }),
    ]),
  );
  return [
    `### ${escaped(table.title)}`,
    '',
    escaped(table.caption),
    '',
    row(['', ...table.columns.map((column, at) => escaped(headOf(table, column, at)))]),
    row(['---', ...table.columns.map(({ kind }) => (kind === 'number' ? '---:' : '---'))]),
    ...rows,
    '',
    ...linesBelow(table, 'Bold').map((line) => `- ${escaped(line)}`),
  ].join('\n');
};
