import Table from 'cli-table3';

const borders = ['top', 'bottom', 'left', 'right', 'mid'].flatMap((side) => [
  side,
  `${side}-mid`,
  `${side}-left`,
  `${side}-right`,
]);

/** A table without lines, columns two spaces apart; those from `rightFrom` on are aligned to the right. */
export const plainTable = (
  rows: readonly (readonly string[])[],
  rightFrom = Number.POSITIVE_INFINITY,
): string => {
  const columns = Math.max(...rows.map((row) => row.length));
  const table = new Table({
    chars: { ...Object.fromEntries(borders.map((border) => [border, ''])), middle: '  ' },
    style: { 'padding-left': 0, 'padding-right': 0, head: [], border: [] },
    colAligns: Array.from({ length: columns }, (_, column) => (column >= rightFrom ? 'right' : 'left')),
  });
  table.push(...rows.map((row) => [...row]));
  return table
    .toString()
    .split('\n')
    .map((line) => `  ${line}`.trimEnd())
    .join('\n');
};

/**
 * Joins neighbours that have the same `key` into one row: a model's layers are many and alike.
 *
 * @param rowOf makes the row of a run from its first and last member
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

/** `1 tensor`, `9 tensors`. */
export const countTensors = (count: number): string => `${count} ${count === 1 ? 'tensor' : 'tensors'}`;

/** Shards as rows of file, tensors and size. */
export const shardRows = (shards: readonly ShardLine[], sizeOf: (bytes: number) => string): string[][] =>
  joinRuns(
    shards,
    ({ tensors, bytes }) => `${tensors} ${sizeOf(bytes)}`,
    (first, last) => [
      first === last ? first.file : `${first.file} … ${last.file}, each`,
      countTensors(first.tensors),
      sizeOf(first.bytes),
    ],
  );
