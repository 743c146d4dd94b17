import { groupBy } from '../../../core/base/errors/lookup.js';
import type { RowScores } from '../reading/row-score.js';

/** Number of rounds of refinement between problems and rows. */
const rounds = 3;

/** Finaliser of MurmurHash3. */
const mixed = (a: number, b: number): number => {
  let hash = Math.imul(a ^ Math.imul(b, 0xcc9e2d51), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
};

const seed = 0x9e3779b9;

const number = new Float64Array(1);
const bits = new Uint32Array(number.buffer);

/** Returns a 32-bit hash; 0 and −0 are equal. */
const hashOf = (value: number, seed: number): number => {
  number[0] = value + 0;
  return mixed(mixed(seed, bits[0] as number), bits[1] as number);
};

/**
 * Returns an order of the problems that depends on their scores alone, so that seeded resamples draw the same
 * problems whatever the order of problems, models or rows.
 *
 * The method is colour refinement of a graph. By turns, a problem's colour comes from the rows' scores in it,
 * and a row's colour from its scores. If rows with different scores keep one colour, they are symmetric, and
 * any of them gets a new colour.
 *
 * @param sides the rows of each side of a comparison; sides have different colours
 */
export const orderOfProblems = (sides: readonly (readonly RowScores[])[]): number[] => {
  const rows = sides.flatMap((side, at) => side.map((row) => new Coloured(row, at)));
  let problems = refined(rows);
  for (let alike = alikeIn(rows); alike !== undefined; alike = alikeIn(rows)) {
    alike.kind = mixed(alike.kind, 1);
    problems = refined(rows);
  }
  const colourAt = (at: number): number => problems[at] as number;
  return Array.from(problems, (_, at) => at).sort((a, b) => colourAt(a) - colourAt(b) || a - b);
};

/**
 * Orders the problems of rows of numbers, such as differences, by these numbers alone. Rounds them to ten
 * digits, because sums in another order differ in the last digit.
 *
 * @param rows of equal length
 */
export const inOwnOrder = (rows: readonly Float64Array[]): Float64Array[] => {
  const rounded = rows.map((row) => row.map((value) => Number(value.toPrecision(10))));
  const order = orderOfProblems([
    rounded.map((sums) => ({
      columns: [{ sums, weights: new Float64Array(sums.length).fill(1) }],
      models: 1,
      aggregate: { of: (sum, weight) => sum / weight, isMean: true },
    })),
  ]);
  return rounded.map((row) => Float64Array.from(order, (at) => row[at] as number));
};

class Coloured {
  kind: number;
  colour: number;
  /** Hashes by problem: a list for each model, or one for the row. */
  readonly cells: readonly Int32Array[];

  constructor({ columns, models }: RowScores, side: number) {
    this.kind = mixed(side + 1, models);
    this.colour = this.kind;
    this.cells = columns.map(({ sums, weights }) =>
      Int32Array.from(sums, (sum, at) => mixed(hashOf(sum, seed), hashOf(weights[at] as number, seed))),
    );
  }

  isSameAs(other: Coloured): boolean {
    return (
      this.cells.length === other.cells.length &&
      this.cells.every((own, cell) => own.every((hash, at) => hash === other.cells[cell]?.[at]))
    );
  }
}

const refined = (rows: readonly Coloured[]): Int32Array => {
  const problems = new Int32Array(rows[0]?.cells[0]?.length ?? 0);
  for (const row of rows) row.colour = row.kind;
  let cells = rows.map(({ cells: own, kind }) => own.map(() => kind));
  for (let round = 0; round < rounds; round += 1) {
    problems.fill(0);
    for (const [at, { cells: own }] of rows.entries())
      for (const [cell, hashes] of own.entries()) {
        const colour = cells[at]?.[cell] as number;
        for (let problem = 0; problem < problems.length; problem += 1)
          problems[problem] = (problems[problem] as number) + mixed(hashes[problem] as number, colour);
      }
    cells = rows.map((row) => {
      const own = row.cells.map((hashes) => {
        let sum = 0;
        for (let problem = 0; problem < problems.length; problem += 1)
          sum = (sum + mixed(hashes[problem] as number, problems[problem] as number)) | 0;
        return mixed(sum, row.kind);
      });
      row.colour = own.reduce((sum, hash) => (sum + hash) | 0, row.kind);
      return own.map((hash) => mixed(hash, row.colour));
    });
  }
  return problems;
};

/**
 * Returns a row with a colour that rows with different scores share (the lowest such colour); undefined if
 * all colours are unique.
 */
const alikeIn = (rows: readonly Coloured[]): Coloured | undefined => {
  const byColour = [...groupBy(rows, ({ colour }) => colour)].sort(([a], [b]) => a - b);
  for (const [, [first, ...others]] of byColour)
    if (first !== undefined && others.some((other) => !first.isSameAs(other))) return first;
  return undefined;
};
