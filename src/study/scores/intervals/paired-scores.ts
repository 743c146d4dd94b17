import { groupBy, itemAt } from '../../../core/base/errors/lookup.js';
import { type Aligned, alignResults, type Column, pseudoValues, whyUnpaired } from '../reading/align.js';
import { type Range, rangeOfDifference, unbounded } from '../reading/metrics.js';
import type { Row } from './rows.js';
import { estimandOf, type Factor, factorsOfDifference } from './sampled.js';
import { less, meanOfModels, meanOfScaled, type Scaled } from './scaled.js';

export interface PairedScores {
  /** First row minus second row, by problem, in the order of the rows' problems. */
  readonly byProblem: Scaled;
  readonly range: Range;
  readonly factors: readonly Factor[];
  readonly estimand: string;
  readonly isBinary: boolean;
}

export interface AlignedRow extends Pick<Row, 'sampling' | 'isOnePair'> {
  readonly columns: readonly Column[];
}

export const pairColumns = (
  a: AlignedRow,
  b: AlignedRow,
  { aggregate, isBinary, range }: Pick<Aligned, 'aggregate' | 'isBinary' | 'range'>,
): PairedScores => {
  const scoresOf = ({ columns }: AlignedRow) => columns.map((column) => pseudoValues(column, aggregate));
  const [ofA, ofB] = [scoresOf(a), scoresOf(b)];
  const factors = factorsOfDifference(
    { scores: ofA, sampling: a.sampling },
    { scores: ofB, sampling: b.sampling },
  );
  const isOnePair = ofA.length === 1 && ofB.length === 1 && (a.isOnePair === true || b.isOnePair === true);
  return {
    byProblem: less(meanOfModels(ofA), meanOfModels(ofB)),
    range: rangeOfDifference(range),
    factors,
    estimand: estimandOf(factors, { isOnePair }),
    isBinary,
  };
};

/**
 * Pairs two rows by problem; undefined without results by problem.
 *
 * @throws RESULTS_NOT_PAIRED as `alignResults`
 */
export const pairRows = (a: Row, b: Row, metric: string): PairedScores | undefined => {
  const all = [...a.results, ...b.results];
  if (whyUnpaired(all, metric) !== undefined) return undefined;
  const aligned = alignResults(all, metric);
  const [ofA, ofB] = [aligned.columns.slice(0, a.results.length), aligned.columns.slice(a.results.length)];
  return pairColumns({ ...a, columns: ofA }, { ...b, columns: ofB }, aligned);
};

/**
 * Returns the mean of differences in several languages, each counted once. Problems are matched by position,
 * because the languages of a benchmark have translations of the same problems. Experts that languages share
 * are matched too; others count separately.
 *
 * @returns undefined if the numbers of problems differ
 */
export const meanOfPaired = (parts: readonly PairedScores[]): PairedScores | undefined => {
  const { length } = itemAt(parts, 0).byProblem.values;
  if (parts.some(({ byProblem }) => byProblem.values.length !== length)) return undefined;
  const isSampled = parts.every(({ factors }) => factors.length > 0);
  const groups = groupBy(isSampled ? parts.flatMap(({ factors }) => factors) : [], commonKey);
  const factors = [...groups.values()].map((of): Factor => {
    const { kind, labels, levels } = itemAt(of, 0);
    return {
      kind,
      labels,
      // Languages without these experts contribute 0.
      levels: levels.map((_, at) => {
        const { values, divisor } = meanOfScaled(of.map((other) => itemAt(other.levels, at)));
        return { values: values.map((value) => value * of.length), divisor: divisor * parts.length };
      }),
    };
  });
  const { estimand, range } = itemAt(parts, 0);
  const isSame = parts.every((of) => of.estimand === estimand);
  return {
    byProblem: meanOfScaled(parts.map(({ byProblem }) => byProblem)),
    range: parts.every((of) => of.range !== unbounded) ? range : unbounded,
    factors,
    estimand: `${isSame ? estimand : estimandOf(factors, { isOnePair: false })}, in these languages`,
    isBinary: parts.every(({ isBinary }) => isBinary),
  };
};

const commonKey = ({ kind, labels }: Factor): string =>
  JSON.stringify([kind, kind === 'pairs of experts' ? labels.map(taskExpertOf) : labels]);

const taskExpertOf = (pair: string): string => pair.slice(0, pair.indexOf('+'));
