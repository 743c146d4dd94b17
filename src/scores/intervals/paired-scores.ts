import { groupBy, itemAt } from '../../base/lookup.js';
import { alignResults, type Column, pseudoValues, whyUnpaired } from '../align.js';
import { meanOf } from '../mean.js';
import type { Aggregate } from '../metrics.js';
import { meansByProblem } from './estimates.js';
import type { Row } from './rows.js';
import { estimandOf, type Factor, factorsOfDifference } from './sampled.js';

/** The difference of two rows of models, problem by problem, and what it varies by besides. */
export interface PairedScores {
  /** Mean score of the first row less that of the second, by problem in the order of its rows. */
  readonly byProblem: Float64Array;
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
  { aggregate, isBinary }: { readonly aggregate: Aggregate; readonly isBinary: boolean },
): PairedScores => {
  const scoresOf = ({ columns }: AlignedRow) => columns.map((column) => pseudoValues(column, aggregate));
  const [ofA, ofB] = [scoresOf(a), scoresOf(b)];
  const factors = factorsOfDifference(
    { scores: ofA, sampling: a.sampling },
    { scores: ofB, sampling: b.sampling },
  );
  const isOnePair = ofA.length === 1 && ofB.length === 1 && (a.isOnePair === true || b.isOnePair === true);
  const others = meansByProblem(ofB);
  return {
    byProblem: meansByProblem(ofA).map((score, problem) => score - (others[problem] as number)),
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
  const { length } = itemAt(parts, 0).byProblem;
  if (parts.some(({ byProblem }) => byProblem.length !== length)) return undefined;
  const share = 1 / parts.length;
  const isSampled = parts.every(({ factors }) => factors.length > 0);
  const groups = groupBy(isSampled ? parts.flatMap(({ factors }) => factors) : [], commonKey);
  const factors = [...groups.values()].map((of): Factor => {
    const { kind, labels, levels } = itemAt(of, 0);
    const mean = (at: number, problem: number): number =>
      of.reduce((sum, other) => sum + share * (itemAt(other.levels, at)[problem] as number), 0);
    return { kind, labels, levels: levels.map((level, at) => level.map((_, problem) => mean(at, problem))) };
  });
  const [first] = parts;
  const isSame = parts.every(({ estimand }) => estimand === first?.estimand);
  return {
    byProblem: Float64Array.from({ length }, (_, problem) =>
      meanOf(parts.map(({ byProblem }) => byProblem[problem] as number)),
    ),
    factors,
    estimand: `${isSame ? first?.estimand : estimandOf(factors, { isOnePair: false })}, in these languages`,
    isBinary: parts.every(({ isBinary }) => isBinary),
  };
};

/** Names the experts of a factor; pairs that share no expert go together by their task experts. */
const commonKey = ({ kind, labels }: Factor): string =>
  `${kind} ${kind === 'pairs of experts' ? labels.length : labels.join()}`;
