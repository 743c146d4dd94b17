import { itemAt } from '../../../core/base/errors/lookup.js';
import { countedSums, sumOf, sumsOf } from '../statistics/mean.js';
import type { Column } from './align.js';
import type { Aggregate } from './metrics.js';

export interface RowScores {
  /** If scores are means, one column with the sums over models; otherwise one column per model. */
  readonly columns: readonly Column[];
  readonly models: number;
  readonly aggregate: Aggregate;
}

export const rowScores = (columns: readonly Column[], aggregate: Aggregate): RowScores => ({
  columns: aggregate.isMean && columns.length > 1 ? [totalOf(columns)] : columns,
  models: columns.length,
  aggregate,
});

const totalOf = (columns: readonly Column[]): Column => ({
  sums: sumsOf(columns.map(({ sums }) => sums)),
  weights: itemAt(columns, 0).weights,
});

/** Returns the mean over models, with the same bits in any order. */
export const scoreOfRow = ({ columns, models, aggregate }: RowScores): number => {
  const { of, isMean } = aggregate;
  if (isMean) return sumOf(itemAt(columns, 0).sums) / (models * itemAt(columns, 0).sums.length);
  return sumOf(columns.map(({ sums, weights }) => of(sumOf(sums), sumOf(weights)))) / models;
};

export const isSameScore = (a: number, b: number): boolean =>
  Math.abs(a - b) <= 1e-12 * Math.max(1, Math.abs(a), Math.abs(b));

/**
 * Returns a function that scores all rows on a sample of problems. `counts` says how often each problem is
 * drawn, `taken` is the sum of `counts`.
 */
export const scorerOf = (
  rows: readonly RowScores[],
): ((counts: ArrayLike<number>, taken: number) => number[]) => {
  const columns = rows.flatMap((row) => row.columns);
  const areMeans = rows.every(({ aggregate }) => aggregate.isMean);
  const sumsOn = countedSums(columns.map(({ sums }) => sums));
  const weightsOn = areMeans ? undefined : countedSums(columns.map(({ weights }) => weights));
  return (counts, taken) => {
    const [sums, weights] = [sumsOn(counts), weightsOn?.(counts)];
    let next = 0;
    return rows.map(({ columns: own, models, aggregate: { of, isMean } }) => {
      const from = next;
      next += own.length;
      if (isMean) return (sums[from] as number) / (models * taken);
      const score = (_: Column, at: number) => of(sums[from + at] as number, weights?.[from + at] as number);
      return sumOf(own.map(score)) / models;
    });
  };
};

export const inOrder = (row: RowScores, order: readonly number[]): RowScores => ({
  ...row,
  columns: row.columns.map(({ sums, weights }) => ({
    sums: Float64Array.from(order, (at) => sums[at] as number),
    weights: Float64Array.from(order, (at) => weights[at] as number),
  })),
});
