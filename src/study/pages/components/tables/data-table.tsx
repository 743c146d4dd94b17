import { Fragment } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { fixed } from '../../../scores/reading/score-table.js';
import { Caption, Lines, Wide } from '../charts/section.js';
import type { PageCell, PageTable } from '../data/data.js';
import { usePrinted } from '../data/printing.js';
import { SearchField, usePages, wordsOf } from './listing.js';

export const rowsShown = 60;

const numberFormat = (value: number, digits: number): string => fixed(value, digits).replace('-', '−');

const remark = ({ n, stderr, model, configuration, otherHalf, interval, p, digits }: PageCell): string =>
  [
    model ?? '',
    configuration ?? '',
    n === undefined ? '' : `n = ${n}`,
    stderr === undefined ? '' : `standard error ${numberFormat(stderr, digits)}`,
    interval === undefined
      ? ''
      : `95 % interval ${numberFormat(interval[0], digits)} to ${numberFormat(interval[1], digits)}`,
    p === undefined ? '' : `p = ${p < 0.001 ? p.toExponential(1) : p.toFixed(3)}`,
    otherHalf === undefined
      ? ''
      : `${numberFormat(otherHalf, digits)} when chosen on one half of the problems and scored on the other`,
  ]
    .filter(Boolean)
    .join('; ');

export const CellValue = ({ cell }: { cell: PageCell | null }) => {
  if (cell === null) return <span class="none">–</span>;
  const { value, digits, stderr, otherHalf, mark, flag } = cell;
  return (
    <span title={remark(cell) || undefined} class={mark === 'best' ? 'best' : undefined}>
      {typeof value === 'string' ? value : numberFormat(value, digits)}
      {mark === 'best' ? <span class="sr"> best</span> : null}
      {stderr === undefined ? null : <small class="error">±{numberFormat(stderr, digits)}</small>}
      {otherHalf === undefined ? null : <small class="error">({numberFormat(otherHalf, digits)})</small>}
      {flag === undefined ? null : (
        <small class="flag">
          <span aria-hidden="true">⚑</span> {flag}
        </small>
      )}
    </span>
  );
};

type Sort = { readonly column: number; readonly down: boolean };

/** Sorts rows; rows without a value come last in both directions. */
const sorted = (rows: PageTable['rows'], sort: Sort | null): PageTable['rows'] => {
  if (sort === null) return rows;
  const { column, down } = sort;
  const direction = down ? -1 : 1;
  const key = (row: PageTable['rows'][number]): string | number | null => {
    if (column < 0) return row.label;
    return row.cells[column]?.value ?? null;
  };
  return [...rows].sort((a, b) => {
    const [x, y] = [key(a), key(b)];
    if (x === null || y === null) return x === y ? 0 : x === null ? 1 : -1;
    if (typeof x === 'number' && typeof y === 'number') return direction * (x - y);
    return direction * String(x).localeCompare(String(y), 'en', { numeric: true });
  });
};

const textOf = ({ label, cells }: PageTable['rows'][number]): string =>
  [label, ...cells.flatMap((cell) => [cell?.value, cell?.flag])].join(' ');

/** Table that can be sorted and filtered. Printing shows all rows that the filter keeps. */
export const DataTable = ({ table }: { table: PageTable }) => {
  const [sort, setSort] = useState<Sort | null>(null);
  const [filter, setFilter] = useState('');
  const found = useMemo(() => {
    const isWanted = wordsOf(filter);
    return sorted(
      table.rows.filter((row) => isWanted(textOf(row))),
      sort,
    );
  }, [table, sort, filter]);
  const notes = [
    ...(table.derived ?? []).map(({ label, value, digits }) => `${label}: ${numberFormat(value, digits)}`),
    ...table.notes,
    ...(table.refusals ?? []),
  ];
  const size = usePrinted() ? Math.max(1, found.length) : rowsShown;
  const { shown, buttons, fromFirst } = usePages(found, size, table.title);
  const heading = (label: string, column: number) => {
    const mine = sort?.column === column ? sort : null;
    const first = column >= 0;
    return (
      <th scope="col" aria-sort={mine === null ? 'none' : mine.down ? 'descending' : 'ascending'}>
        <button
          type="button"
          onClick={() =>
            setSort(
              mine === null ? { column, down: first } : mine.down === first ? { column, down: !first } : null,
            )
          }
        >
          {label === '' ? <span class="sr">Row</span> : label}
          <span class="arrow" aria-hidden="true">
            {mine === null ? '↕' : mine.down ? '↓' : '↑'}
          </span>
        </button>
      </th>
    );
  };
  return (
    <div class="data-table">
      {table.rows.length < 6 ? null : (
        <SearchField
          label="Filter"
          hint="words that a row contains"
          value={filter}
          set={fromFirst(setFilter)}
          style="controls"
        >
          <output>
            {found.length} of {table.rows.length} rows
          </output>
        </SearchField>
      )}
      <Wide label={table.title}>
        <table>
          <Caption>{table.caption}</Caption>
          <thead>
            <tr>
              {heading(table.rowLabel ?? '', -1)}
              {table.columns.map(({ id, label }, column) => (
                <Fragment key={id}>{heading(label, column)}</Fragment>
              ))}
            </tr>
          </thead>
          <tbody>
            {shown.map(({ id, label, cells }) => (
              <tr key={id}>
                <th scope="row">{label}</th>
                {table.columns.map((column, index) => {
                  const cell = cells[index] ?? null;
                  return (
                    <td key={column.id} class={typeof cell?.value === 'string' ? 'text' : undefined}>
                      <CellValue cell={cell} />
                    </td>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </Wide>
      {buttons}
      {notes.length === 0 ? null : <Lines of={notes} kind="notes" />}
    </div>
  );
};
