import { visibleLine } from '../../../core/base/errors/visible.js';
import type { ScoreTable } from '../../scores/reading/score-table.js';
import { hasComputed, headOf, linesBelow, type Shown, shownCell } from './shown.js';

const signs: Readonly<Record<string, string>> = {
  '\\': '\\textbackslash{}',
  '~': '\\textasciitilde{}',
  '^': '\\textasciicircum{}',
  '±': '$\\pm$',
  '×': '$\\times$',
  '÷': '$\\div$',
  '†': '\\dag{}',
  '§': '\\S{}',
  '⋮': '$\\vdots$',
};

export const latexText = (text: string): string =>
  visibleLine(text).replace(/[\\~^±×÷†§⋮#$%&_{}]/g, (sign) => signs[sign] ?? `\\${sign}`);

/** Formats a number; math mode gives negative ones a proper minus. */
const number = (text: string): string => (/^-/.test(text) ? `$${text}$` : text);

const latexCell = ({ value, stderr, interval, otherHalf, isBest, isForeign }: Shown): string => {
  const shown = /^-?[\d.]+$/.test(value) ? number(value) : latexText(value);
  return [
    isBest ? `\\textbf{${shown}}` : shown,
    stderr === undefined ? '' : `{\\scriptsize$\\pm$${stderr}}`,
    interval === undefined ? '' : `{\\scriptsize(${interval.map(number).join(' to ')})}`,
    otherHalf === undefined ? '' : `{\\scriptsize[${number(otherHalf)}]}`,
    isForeign ? '\\dag{}' : '',
  ]
    .filter((part) => part !== '')
    .join(' ');
};

/** Formats a table as a LaTeX float with booktabs rules; a row's best figure is bold. */
export const latexScores = (table: ScoreTable): string => {
  const computed = hasComputed(table);
  const line = (cells: readonly string[]): string => `    ${cells.join(' & ')} \\\\`;
  const below = linesBelow(table, 'Bold').map(latexText).join(' ');
  return [
    '\\begin{table}',
    '  \\centering',
    `  \\caption{${latexText(table.caption)}${below === '' ? '' : ` ${below}`}}`,
    `  \\label{tab:${(table.base === undefined ? table.id : `${table.id}/${table.base}`).replace(/[^a-zA-Z0-9/-]/g, '-')}}`,
    `  \\begin{tabular}{l${table.columns.map(({ kind }) => (kind === 'number' ? 'r' : 'l')).join('')}}`,
    '    \\toprule',
    line(['', ...table.columns.map((column, at) => latexText(headOf(table, column, at)))]),
    '    \\midrule',
    ...table.rows.map(({ label, cells }) =>
      line([latexText(label), ...cells.map((cell) => latexCell(shownCell(cell, { hasComputed: computed })))]),
    ),
    '    \\bottomrule',
    '  \\end{tabular}',
    '\\end{table}',
  ].join('\n');
};
