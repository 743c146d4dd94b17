import { countAbove, type MavVectors } from '../analysis/analysis.js';
import { type Column, columnsOf } from '../analysis/columns.js';

/** Fractions of rows above a threshold by layer and matrix. */
export interface AnalysisTable {
  readonly columns: readonly Column[];
  /** By layer from 0 on; undefined where a layer has no such matrix. */
  readonly cells: readonly (readonly (number | undefined)[])[];
}

/** The published figures' numbers: a cell with several tensors pools their rows. */
export const tableOf = ({ tensors, layers, vectors }: MavVectors, threshold: number): AnalysisTable => {
  const columns = columnsOf(tensors, layers);
  const cell = (names: readonly string[]): number | undefined => {
    const rows = names.reduce(
      (total, name) => total + (tensors[name]?.rows ?? 0) - (tensors[name]?.nonFiniteRows ?? 0),
      0,
    );
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

/** Six decimals, ties to even as the published tables have them: shares of 4096 rows often end in a 5. */
export const sixDecimals = (fraction: number): string => {
  const scaled = fraction * 1e6;
  const below = Math.floor(scaled);
  return (scaled - below === 0.5 && below % 2 === 0 ? below / 1e6 : fraction).toFixed(6);
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
  const isTable = header[0] === 'layer' && rows.every((row, layer) => Number(row[0]) === layer);
  if (!isTable || rows.length === 0) return undefined;
  return {
    columns: header.slice(1),
    cells: rows.map((row) => row.slice(1).map((cell) => (cell === '' ? undefined : Number(cell)))),
  };
};

/** `attention.wq.weight` → `wq`; other modules without their `.weight`. */
export const shortName = (column: string): string =>
  /^(?:attention|feed_forward)\.(w\w)\.weight$/.exec(column)?.[1] ?? column.replace(/\.weight$/, '');

export const mostOf = (tables: readonly { readonly cells: AnalysisTable['cells'] }[]): number =>
  Math.max(1e-6, ...tables.flatMap(({ cells }) => cells.flatMap((row) => row.map((value) => value ?? 0))));
