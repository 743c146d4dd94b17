import { markdownText } from '../../../core/plan/card/markdown.js';
import type { ScoreTable } from '../../scores/reading/score-table.js';
import { plainCell } from './plain.js';
import { hasComputed, headOf, linesBelow, shownCell } from './shown.js';

const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;

/** Formats a table as GitHub's Markdown; a row's best figure is bold. */
export const markdownScores = (table: ScoreTable): string => {
  const computed = hasComputed(table);
  const rows = table.rows.map(({ label, cells }) =>
    row([
      markdownText(label),
      ...cells.map((cell) => {
        const shown = shownCell(cell, { hasComputed: computed });
        const text = markdownText(plainCell({ ...shown, isBest: false }));
        return shown.isBest ? `**${text}**` : text;
      }),
    ]),
  );
  return [
    `### ${markdownText(table.title)}`,
    '',
    markdownText(table.caption),
    '',
    row(['', ...table.columns.map((column, at) => markdownText(headOf(table, column, at)))]),
    row(['---', ...table.columns.map(({ kind }) => (kind === 'number' ? '---:' : '---'))]),
    ...rows,
    '',
    ...linesBelow(table, 'Bold').map((line) => `- ${markdownText(line)}`),
  ].join('\n');
};
