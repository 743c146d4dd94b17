import { countAbove, type MavVectors } from '../analysis/analysis.js';
import { type Column, columnsOf } from '../analysis/columns.js';
import { sixDecimals } from './svg.js';

/** Fractions of rows above a threshold by layer and matrix. */
export interface AnalysisTable {
  readonly columns: readonly Column[];
  /** By layer from 0 on; undefined where a layer has no such matrix. */
  readonly cells: readonly (readonly (number | undefined)[])[];
}

/** Rows of several tensors together, those left out that are not finite. */
export const finiteRows = ({ tensors }: MavVectors, names: readonly string[]): number =>
  names.reduce((total, name) => total + (tensors[name]?.rows ?? 0) - (tensors[name]?.nonFiniteRows ?? 0), 0);

/** The published figures' numbers: a cell with several tensors pools their rows. */
export const tableOf = (mav: MavVectors, threshold: number): AnalysisTable => {
  const { tensors, layers, vectors } = mav;
  const columns = columnsOf(tensors, layers);
  const cell = (names: readonly string[]): number | undefined => {
    const rows = finiteRows(mav, names);
    const above = names.reduce(
      (total, name) => total + countAbove(vectors.get(name) ?? new Float32Array(), threshold),
      0,
    );
    return rows > 0 ? above / rows : undefined;
  };
  return {
    columns,
    cells: Array.from({ length: layers }, (_, layer) =>
      columns.map(({ layers: names }) => cell(names[layer] ?? [])),
    ),
  };
};

/** Layer by column, layer 0 first, six decimals: the format of the published tables. */
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

/** A published table, read back. Undefined where it is none. */
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

/** `attention.wq.weight` → `wq`; other modules without their `.weight`. */
export const shortName = (column: string): string =>
  /^(?:attention|feed_forward)\.(w\w)\.weight$/.exec(column)?.[1] ?? column.replace(/\.weight$/, '');

export const mostOf = (tables: readonly { readonly cells: AnalysisTable['cells'] }[]): number =>
  tables
    .flatMap(({ cells }) => cells.flat())
    .reduce<number>((most, value) => Math.max(most, value ?? 0), 1e-6);
