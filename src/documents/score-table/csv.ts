import Papa from 'papaparse';
import { visibleLine } from '../../base/visible.js';
import type { Cell, ScoreTable } from '../../scores/score-table.js';

const fields = [
  'table',
  'row',
  'row_label',
  'column',
  'column_label',
  'value',
  'n',
  'stderr',
  'low',
  'high',
  'p',
  'other_half',
  'model',
  'configuration',
  'source',
  'best',
  'flag',
  'estimand',
  'base',
] as const;

/** How every CSV of tables begins, by which layerloom knows its own. */
export const csvScoresStart = fields.slice(0, 5).join(',');

type Line = Readonly<Partial<Record<(typeof fields)[number], string | number>>>;

/** Formats tables as one CSV, a line for each filled cell, numbers unrounded (12 digits) on the scale shown. */
export const csvScores = (tables: readonly ScoreTable[]): string => {
  const lines = tables.flatMap((table) => [
    ...table.rows.flatMap(({ id, label, cells }) =>
      cells.flatMap((cell, at): Line[] => {
        const column = table.columns[at];
        return cell === null || column === undefined
          ? []
          : [
              {
                table: table.id,
                ...(table.base === undefined ? {} : { base: table.base }),
                row: id,
                row_label: label,
                column: column.id,
                column_label: column.label,
                ...figures(cell),
              },
            ];
      }),
    ),
    ...table.derived.map(
      ({ id, label, value }): Line => ({
        table: table.id,
        ...(table.base === undefined ? {} : { base: table.base }),
        row: id,
        row_label: label,
        column: 'derived',
        value: exact(value),
        source: 'computed',
      }),
    ),
  ]);
  const data = lines.map((line) => fields.map((field) => shown(line[field])));
  // A spreadsheet would run a name that begins with = as a formula.
  return Papa.unparse({ fields: [...fields], data }, { newline: '\n', escapeFormulae: true });
};

const exact = (value: number): number => Number(value.toPrecision(12));

const shown = (value: string | number | undefined): string | number =>
  typeof value === 'string' ? visibleLine(value) : (value ?? '');

const figures = ({ value, n, stderr, interval, p, otherHalf, mark, ...cell }: Cell): Line => ({
  value: typeof value === 'number' ? exact(value) : value,
  ...(n === undefined ? {} : { n }),
  ...(stderr === undefined ? {} : { stderr: exact(stderr) }),
  ...(interval === undefined ? {} : { low: exact(interval[0]), high: exact(interval[1]) }),
  ...(p === undefined ? {} : { p: exact(p) }),
  ...(otherHalf === undefined ? {} : { other_half: exact(otherHalf) }),
  ...(mark === 'best' ? { best: 'yes' } : {}),
  ...(cell.model === undefined ? {} : { model: cell.model }),
  ...(cell.configuration === undefined ? {} : { configuration: cell.configuration }),
  source: cell.source,
  ...(cell.flag === undefined ? {} : { flag: cell.flag }),
  ...(cell.estimand === undefined ? {} : { estimand: cell.estimand }),
});
