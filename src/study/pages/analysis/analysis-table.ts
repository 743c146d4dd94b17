import { itemAt, propertyAt, valueAt } from '../../../core/base/errors/lookup.js';
import { countAbove, type MavVectors } from '../../../core/measure/analysis/analysis.js';
import { type Column, columnsOf } from '../../../core/measure/analysis/columns.js';
import { sixDecimals } from '../components/data/numbers.js';

export interface AnalysisTable {
  readonly columns: readonly Column[];
  /** Shares by layer, then column; undefined if the layer has no such matrix. */
  readonly cells: readonly (readonly (number | undefined)[])[];
}

export interface PublishedTable {
  readonly name: string;
  readonly columns: readonly string[];
  readonly cells: readonly (readonly (number | undefined)[])[];
}

export const finiteRows = ({ tensors }: MavVectors, names: readonly string[]): number =>
  names.reduce((total, name) => {
    const { rows, nonFiniteRows } = propertyAt(tensors, name);
    return total + rows - nonFiniteRows;
  }, 0);

/** Computes numbers of published figures. Rows of all tensors of a cell are counted together. */
export const tableOf = (mav: MavVectors, threshold: number): AnalysisTable => {
  const { tensors, layers, vectors } = mav;
  const columns = columnsOf(tensors, layers);
  const cell = (names: readonly string[]): number | undefined => {
    const rows = finiteRows(mav, names);
    const above = names.reduce((total, name) => total + countAbove(valueAt(vectors, name), threshold), 0);
    return rows > 0 ? above / rows : undefined;
  };
  return {
    columns,
    cells: Array.from({ length: layers }, (_, layer) =>
      columns.map(({ layers: names }) => cell(itemAt(names, layer))),
    ),
  };
};

/** Formats a table as CSV in the published format: one line per layer, six decimals. */
export const encodeTable = ({ columns, cells }: AnalysisTable): string =>
  [
    ['layer', ...columns.map(({ name }) => name)],
    ...cells.map((row, layer) => [
      String(layer),
      ...row.map((value) => (value === undefined ? '' : sixDecimals(value))),
    ]),
  ]
    .map((row) => `${row.join(',')}\n`)
    .join('');

export const parseTable = (
  text: string,
): { columns: readonly string[]; cells: readonly (readonly (number | undefined)[])[] } | undefined => {
  const [header = [], ...rows] = text
    .trim()
    .split(/\r?\n/)
    .map((line) => line.split(','));
  const isFraction = (cell: string) => cell === '' || (Number(cell) >= 0 && Number(cell) <= 1);
  const isRow = (row: readonly string[], layer: number) =>
    row.length === header.length && Number(row[0]) === layer && row.slice(1).every(isFraction);
  if (header[0] !== 'layer' || header.length < 2 || rows.length === 0 || !rows.every(isRow)) return undefined;
  return {
    columns: header.slice(1),
    cells: rows.map((row) => row.slice(1).map((cell) => (cell === '' ? undefined : Number(cell)))),
  };
};

export const shortName = (column: string): string =>
  /^(?:attention|feed_forward)\.(w\w)\.weight$/.exec(column)?.[1] ?? column.replace(/\.weight$/, '');

/** Returns a colour scale's top, at least 1e-6. */
export const mostOf = (tables: readonly { readonly cells: AnalysisTable['cells'] }[]): number =>
  tables
    .flatMap(({ cells }) => cells.flat())
    .reduce<number>((most, value) => Math.max(most, value ?? 0), 1e-6);
