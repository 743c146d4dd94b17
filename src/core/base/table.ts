import Table from 'cli-table3';
import { visibleLine } from './errors/visible.js';
import { counted } from './format.js';

const borders = ['top', 'bottom', 'left', 'right', 'mid'].flatMap((side) => [
  side,
  `${side}-mid`,
  `${side}-left`,
  `${side}-right`,
]);

/** Maximum rows, because cli-table3 takes quadratic time. */
const mostRows = 4000;

const shortened = (rows: readonly (readonly string[])[]): readonly (readonly string[])[] =>
  rows.length <= mostRows ? rows : [...rows.slice(0, mostRows / 2), ['⋮'], ...rows.slice(-mostRows / 2)];

const gap = 2;

/** Splits a table wider than `width` into blocks of the first column and at least one other. */
const blocksOf = (rows: readonly (readonly string[])[], width: number): (readonly string[])[][] => {
  const columns = rows.reduce((most, row) => Math.max(most, row.length), 0);
  const widths = Array.from({ length: columns }, (_, at) =>
    rows.reduce((most, row) => Math.max(most, [...(row[at] ?? '')].length), 0),
  );
  const [first = 0, ...others] = widths;
  const blocks: { begin: number; end: number }[] = [];
  let used = 0;
  for (const [index, own] of others.entries()) {
    const last = blocks.at(-1);
    used += gap + own;
    if (last !== undefined && used <= width) last.end += 1;
    else {
      blocks.push({ begin: index + 1, end: index + 2 });
      used = gap + first + gap + own;
    }
  }
  if (blocks.length < 2) return [[...rows]];
  return blocks.map(({ begin, end }) => rows.map((row) => [...row.slice(0, 1), ...row.slice(begin, end)]));
};

/** Formats rows; right-aligns columns from `rightFrom` on. Above 4000 rows, shows the first and last. */
export const plainTable = (
  rows: readonly (readonly string[])[],
  rightFrom = Number.POSITIVE_INFINITY,
  width = Number.POSITIVE_INFINITY,
): string =>
  blocksOf(
    shortened(rows).map((row) => row.map(visibleLine)),
    width,
  )
    .map((block) => formatBlock(block, rightFrom))
    .join('\n\n');

const formatBlock = (rows: readonly (readonly string[])[], rightFrom: number): string => {
  const columns = rows.reduce((most, row) => Math.max(most, row.length), 0);
  const table = new Table({
    chars: { ...Object.fromEntries(borders.map((border) => [border, ''])), middle: '  ' },
    style: { 'padding-left': 0, 'padding-right': 0, head: [], border: [] },
    colAligns: Array.from({ length: columns }, (_, column) => (column >= rightFrom ? 'right' : 'left')),
  });
  for (const row of rows) table.push([...row]);
  return table
    .toString()
    .split('\n')
    .map((line) => `${' '.repeat(gap)}${line}`.trimEnd())
    .join('\n');
};

/**
 * Joins adjacent rows with equal keys into one row, because most layers are alike.
 *
 * @param rowOf makes a row from a run's first and last item
 */
export const joinRuns = <Item>(
  items: readonly Item[],
  key: (item: Item) => string,
  rowOf: (first: Item, last: Item) => string[],
): string[][] => {
  const runs: { first: Item; last: Item }[] = [];
  for (const item of items) {
    const run = runs.at(-1);
    if (run !== undefined && key(run.last) === key(item)) run.last = item;
    else runs.push({ first: item, last: item });
  }
  return runs.map(({ first, last }) => rowOf(first, last));
};

export interface ShardLine {
  readonly file: string;
  readonly bytes: number;
  readonly tensors: number;
}

const shardName = /^(.{0,100}?)(\d{1,9})(-of-\d+\..*)$/;

const rangeOfFiles = (first: string, last: string): string => {
  const [, before, , total] = shardName.exec(first) ?? [];
  const [, , number, rest] = shardName.exec(last) ?? [];
  if (total === undefined || `${before}${number}${total}` !== last) return `${first} … ${last}`;
  return `${first.slice(0, -total.length)} … ${number}${rest}`;
};

/** Returns table rows of file, tensors and size; equal neighbours share a row. */
export const shardRows = (shards: readonly ShardLine[], sizeOf: (bytes: number) => string): string[][] =>
  joinRuns(
    shards,
    ({ tensors, bytes }) => `${tensors} ${sizeOf(bytes)}`,
    (first, last) => [
      first === last ? first.file : `${rangeOfFiles(first.file, last.file)}, each`,
      counted(first.tensors, 'tensor'),
      sizeOf(first.bytes),
    ],
  );
