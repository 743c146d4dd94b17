import { groupBy, itemAt } from '../../../core/base/lookup.js';
import { type Aligned, alignResults, type Column, pseudoValues, whyUnpaired } from '../align.js';
import { type Range, rangeOfDifference, unbounded } from '../metrics.js';
import type { Row } from './rows.js';
import { estimandOf, type Factor, factorsOfDifference } from './sampled.js';
import { less, meanOfModels, meanOfScaled, type Scaled } from './scaled.js';

/** The difference of two rows of models, problem by problem, and what it varies by besides. */
export interface PairedScores {
  /** Mean score of the first row less that of the second, by problem in the order of its rows. */
  readonly byProblem: Scaled;
  /** The least and largest possible difference. */
  readonly range: Range;
  readonly factors: readonly Factor[];
  /** What a mean over problems and models is about. */
  readonly estimand: string;
  /** True if every score is 0 or 1. */
  readonly isBinary: boolean;
}

/** Models of one row, aligned with those of another. */
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
 * Pairs two rows by problem.
 *
 * @returns undefined without results by problem
 * @throws LayerloomError RESULTS_NOT_PAIRED as `alignResults`
 */
export const pairRows = (a: Row, b: Row, metric: string): PairedScores | undefined => {
  const all = [...a.results, ...b.results];
  if (whyUnpaired(all, metric) !== undefined) return undefined;
  const aligned = alignResults(all, metric);
  const [ofA, ofB] = [aligned.columns.slice(0, a.results.length), aligned.columns.slice(a.results.length)];
  return pairColumns({ ...a, columns: ofA }, { ...b, columns: ofB }, aligned);
};

/**
 * Returns the mean of differences in several languages, each of which counts once. Problems go together by their place:
 * a benchmark's languages translate the same ones, and of independent problems any order gives the variance of the mean. So do
 * experts that languages have in common; the variance of a language's own experts counts apart.
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
      // Languages without these experts add nothing to them.
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

/** Names the experts of a factor; of pairs that share no expert their task experts. */
const commonKey = ({ kind, labels }: Factor): string =>
  JSON.stringify([kind, kind === 'pairs of experts' ? labels.map(taskExpertOf) : labels]);

const taskExpertOf = (pair: string): string => pair.slice(0, pair.indexOf('+'));
