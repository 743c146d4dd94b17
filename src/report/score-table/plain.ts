import type { ScoreTable } from '../../scores/score-table.js';
import { visibleLine } from '../../visible.js';
import { plainTable } from '../table.js';
import { hasComputed, headOf, linesBelow, type Shown, shownCell } from './shown.js';

/** Formats a cell as `32.4 ± 0.8 [31.9] *†`. */
export const plainCell = ({ value, stderr, interval, otherHalf, isBest, isForeign }: Shown): string =>
  [
    value,
    stderr === undefined ? '' : `± ${stderr}`,
    interval === undefined ? '' : `(${interval.join(' to ')})`,
    otherHalf === undefined ? '' : `[${otherHalf}]`,
    isBest || isForeign ? `${isBest ? '*' : ''}${isForeign ? '†' : ''}` : '',
  ]
    .filter((part) => part !== '')
    .join(' ');

/** Formats a table for a terminal: title, caption, figures, and notes below. */
export const plainScores = (table: ScoreTable): string => {
  const computed = hasComputed(table);
  const rows = [
    ['', ...table.columns.map((column, at) => headOf(table, column, at))],
    ...table.rows.map(({ label, cells }) => [
      label,
      ...cells.map((cell) => plainCell(shownCell(cell, { hasComputed: computed }))),
    ]),
  ];
  return [
    visibleLine(`${table.title}  [${table.id}]`),
    visibleLine(table.caption),
    '',
    plainTable(rows, 1),
    '',
    ...linesBelow(table, '*').map((line) => `  ${line}`),
  ].join('\n');
};
