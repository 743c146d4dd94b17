import type { Board, Subject } from '../boards/board.js';
import { idOf, isMoreBetter, numberCell } from '../boards/cells.js';
import { distinctGroups, type Group, groupsOf, labelIn, sortGroups } from '../boards/groups.js';
import { pairRows } from '../intervals/paired-scores.js';
import { inOwnOrder } from '../intervals/problem-order.js';
import { rowOf } from '../intervals/rows.js';
import { type ScoreTable, type TableRow, tableOf } from '../reading/score-table.js';
import { meanOf } from '../statistics/mean.js';
import { type Resampling, resamplesOf } from '../statistics/resample.js';

/** Ranks groups of models over languages, to show which group is the most consistent. */
export const ranks = (board: Board): ScoreTable[] =>
  board.benchmarks.map((benchmark) => {
    const subjects = board.languages.flatMap((language) => board.subject(benchmark, language) ?? []);
    const places = subjects.flatMap((subject) => {
      const groups = distinctGroups(groupsOf(board, subject));
      return groups.length < 2 ? [] : [{ subject, groups }];
    });
    const shared = sortGroups(places.flatMap(({ groups }) => groups.map(({ id }) => id))).filter((id) =>
      places.every(({ groups }) => groups.some((group) => group.id === id)),
    );
    const found =
      places.length < 2 || shared.length < 2
        ? undefined
        : board.attempt(() => rowsOf(board, places, shared, isMoreBetter(board, benchmark)));
    return tableOf({
      id: idOf('ranks', benchmark),
      title: `${benchmark}: ranks over languages`,
      caption:
        'Rank of each group of models by its mean score (1 is the best), over the languages that have all groups.',
      notes: [
        'Equal means share a rank. Intervals contain the ranks in 95 % of the bootstrap resamples of problems, for these models only. A best configuration was chosen on these problems, so its rank is too good.',
      ],
      columns: [
        { id: 'rank', label: 'mean rank', kind: 'number' },
        { id: 'worst', label: 'worst rank', kind: 'number' },
        ...places.map(({ subject: { language } }) => ({
          id: language,
          label: language,
          kind: 'number' as const,
        })),
      ],
      rows: found ?? [],
    });
  });

interface Place {
  readonly subject: Subject;
  readonly groups: readonly Group[];
}

const rowsOf = (
  board: Board,
  places: readonly Place[],
  ids: readonly string[],
  isHigherBetter: boolean,
): TableRow[] => {
  const sign = isHigherBetter ? 1 : -1;
  const all = places.map((place) => differencesIn(place, ids)).filter((rows) => rows !== undefined);
  if (all.length < places.length) return [];
  const observed = all.map((rows) => ranksOf(rows.map((row) => sign * sumOfDrawn(row, undefined))));
  const draws = meanRanksDrawn(all, sign, board.resampling);
  const labels = places.map(({ subject }) => subject);
  return ids.map((id, at): TableRow => {
    const own = observed.map((ranksIn) => ranksIn[at] as number);
    const drawn = draws.map((of) => of[at] as number).sort((a, b) => a - b);
    const bound = (share: number) => drawn[Math.round(share * (drawn.length - 1))] as number;
    return {
      id,
      label: labelIn(board, labels, id),
      cells: [
        numberCell(meanOf(own), 1, {
          interval: [bound(0.025), bound(0.975)],
          estimand: 'problems like these, in these languages',
        }),
        numberCell(Math.max(...own), 1),
        ...own.map((rank) => numberCell(rank, 1)),
      ],
    };
  });
};

const differencesIn = ({ subject, groups }: Place, ids: readonly string[]): Float64Array[] | undefined => {
  const rows = ids.map((id) => rowOf(groups.find((group) => group.id === id)?.models ?? [], subject.task));
  const [first] = rows;
  const paired = rows.map((row) => first && pairRows(row, first, subject.metric)?.byProblem);
  const n = paired[0]?.values.length;
  if (paired.some((one) => one === undefined || one.values.length !== n)) return undefined;
  return paired.map((one) => (one?.values ?? new Float64Array()).map((value) => value / (one?.divisor ?? 1)));
};

const sumOfDrawn = (values: Float64Array, counts: Uint16Array | undefined): number => {
  let sum = 0;
  for (let at = 0; at < values.length; at += 1) sum += (counts?.[at] ?? 1) * (values[at] as number);
  // Rounding errors must not decide between equal means.
  return Number(sum.toPrecision(12));
};

/** Returns ranks of scores, 1 for the highest; equal scores share the mean of their ranks. */
export const ranksOf = (scores: readonly number[]): number[] =>
  scores.map((score) => {
    const above = scores.filter((other) => other > score).length;
    const equal = scores.filter((other) => other === score).length;
    return above + (equal + 1) / 2;
  });

/**
 * Returns the mean rank over languages in each resample, by group. The languages of a benchmark have
 * translations of the same problems, so their problems are resampled together.
 */
const meanRanksDrawn = (
  places: readonly (readonly Float64Array[])[],
  sign: number,
  resampling: Resampling,
): number[][] => {
  const totals: number[][] = [];
  const lengths = new Set(places.flat().map(({ length }) => length));
  const together = lengths.size === 1 ? inOwnOrder(places.flat()) : undefined;
  let at = 0;
  for (const rows of places) {
    let draw = 0;
    const ordered = together?.slice(at, at + rows.length) ?? inOwnOrder(rows);
    at += rows.length;
    for (const counts of resamplesOf(rows[0]?.length ?? 0, resampling)) {
      const own = ranksOf(ordered.map((row) => sign * sumOfDrawn(row, counts)));
      totals[draw] = own.map((rank, group) => (totals[draw]?.[group] ?? 0) + rank);
      draw += 1;
    }
  }
  return totals.map((of) => of.map((total) => total / places.length));
};
