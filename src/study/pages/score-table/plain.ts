import { visibleLine } from '../../../core/base/errors/visible.js';
import { plainTable } from '../../../core/base/table.js';
import { wrap } from '../../../core/base/wrap.js';
import type { ScoreTable } from '../../scores/reading/score-table.js';
import { hasComputed, headOf, linesBelow, type Shown, shownCell } from './shown.js';

/** Formats a cell: `32.4 ± 0.8 [31.9] *†`. */
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

/** Formats a table for a terminal of `width` columns: title, caption, figures, notes. */
export const plainScores = (table: ScoreTable, width = Number.POSITIVE_INFINITY): string => {
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
    ...wrap(visibleLine(table.caption), width),
    '',
    plainTable(rows, 1, width),
    '',
    ...linesBelow(table, '*')
      .flatMap((line) => wrap(line, width - 2))
      .map((line) => `  ${line}`),
  ].join('\n');
};
