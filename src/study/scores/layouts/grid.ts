import type { Board, Subject } from '../boards/board.js';
import { idOf, isMoreBetter, numberCell } from '../boards/cells.js';
import { configurationsIn, type Group, groupsOf, isMerged } from '../boards/groups.js';
import { pairRows } from '../intervals/paired-scores.js';
import { inOwnOrder } from '../intervals/problem-order.js';
import { rowOf } from '../intervals/rows.js';
import { type Configuration, defaultOf, distinctConfigurations } from '../reading/configurations.js';
import { type ScoreTable, type TableRow, tableOf } from '../reading/score-table.js';
import { countedSums } from '../statistics/mean.js';
import { type Resampling, resamplesOf } from '../statistics/resample.js';
import { ofSamePairs } from './ablations.js';
import { type Contrast, differences } from './differences.js';

const swapsIn = (board: Board, language: string): readonly Configuration[] =>
  distinctConfigurations(configurationsIn(board, language).filter(({ method }) => method === 'layer_swap'));

/**
 * Tests whether the grid's configurations are "largely equivalent within this range" (§4.1): each against the
 * default, within the margin, with p adjusted over all of them. Made only if a margin is given.
 */
export const equivalence = (board: Board): ScoreTable[] =>
  board.margin === undefined
    ? []
    : board.benchmarks.map((benchmark) => {
        const subjects = board.languages.flatMap((language) => board.subject(benchmark, language) ?? []);
        const variants = new Set(
          subjects.flatMap(({ language }) => swapsIn(board, language).map(({ variant }) => variant)),
        );
        const table = differences(board, {
          of: idOf('equivalence', benchmark),
          title: `${benchmark}: configurations against the default`,
          caption: 'Each layer swap minus the default: mean over the same pairs, with 95 % interval.',
          subjects,
          contrasts: [...variants].map((variant): Contrast => contrastOf(board, variant)),
          adjustsEquivalence: true,
        });
        return { ...table, notes: [...table.notes, ...countNotes(table)] };
      });

const contrastOf = (board: Board, variant: string): Contrast => ({
  id: variant,
  label: `${variant} minus the default`,
  sides: ({ language, task }) => {
    const own = swapsIn(board, language).find((of) => of.variant === variant);
    const usual = defaultOf(configurationsIn(board, language), 'layer_swap');
    if (own === undefined || usual === undefined) return undefined;
    return ofSamePairs(own.models, usual.models, task);
  },
});

const countNotes = ({ rows, columns }: ScoreTable): string[] => {
  const at = columns.findIndex(({ id }) => id === 'equivalence');
  const places = new Set(rows.map(({ id }) => id.slice(0, id.indexOf('/'))));
  if (at < 0) return [];
  return [...places].map((place) => {
    const own = rows.filter(({ id }) => id.startsWith(`${place}/`));
    const shown = own.filter(({ cells }) => String(cells[at]?.value).startsWith('equivalent'));
    return `${place}: ${shown.length} of ${own.length} configurations are equivalent to the default.`;
  });
};

/**
 * Tabulates how many configurations score above base, experts and default, and how many would by chance if
 * all were equally good. Configurations share problems and experts, so chance alone may put most of them
 * above.
 */
export const surpass = (board: Board): ScoreTable[] =>
  board.benchmarks.map((benchmark) => {
    const subjects = board.languages.flatMap((language) => board.subject(benchmark, language) ?? []);
    return tableOf({
      id: idOf('surpass', benchmark),
      title: `${benchmark}: configurations above experts and default`,
      caption:
        'How many layer-swap configurations score above the models of a row (mean over the pairs), and how many would by chance.',
      notes: [
        'By chance: the differences of each configuration are shifted to a mean of 0, and the problems resampled. The columns show the mean number above, and the number that 95 % of the resamples do not exceed. p: the share of resamples with at least as many above as observed.',
        'The results are for these experts only; p is not adjusted.',
      ],
      columns: [
        { id: 'configurations', label: 'configurations', kind: 'number' },
        { id: 'above', label: 'above', kind: 'number' },
        { id: 'chance', label: 'by chance', kind: 'number' },
        { id: 'chance-most', label: '95 % of chance', kind: 'number' },
        { id: 'p', label: 'p', kind: 'number' },
      ],
      rows: subjects.flatMap((subject) => surpassedIn(board, subject, isMoreBetter(board, benchmark))),
    });
  });

const surpassedIn = (board: Board, subject: Subject, isHigherBetter: boolean): TableRow[] => {
  const configurations = swapsIn(board, subject.language);
  if (configurations.length < 2) return [];
  return groupsOf(board, subject)
    .filter((group) => !isMerged(group) || group.id === 'swap-default')
    .flatMap((group): TableRow[] => {
      const others = configurations.filter(({ models }) =>
        models.some((model) => !group.models.includes(model)),
      );
      const values = others.flatMap(
        (own) => board.attempt(() => differencesOf(group, own, subject, isHigherBetter)) ?? [],
      );
      const found = countAbove(values, board.resampling);
      if (found === undefined) return [];
      return [
        {
          id: `${subject.language}/${group.id}`,
          label: `${subject.language}: above ${group.label}`,
          cells: [
            numberCell(values.length, 0),
            numberCell(found.above, 0),
            numberCell(found.mean, 1),
            numberCell(found.most, 0),
            numberCell(found.p, 4),
          ],
        },
      ];
    });
};

const differencesOf = (
  group: Group,
  { models }: Configuration,
  { task, metric }: Subject,
  isHigherBetter: boolean,
): Float64Array[] => {
  const [own, other] = [rowOf(models, task), rowOf(group.models, task)];
  if (own.results.length === 0 || other.results.length === 0) return [];
  const paired = pairRows(own, other, metric);
  if (paired === undefined) return [];
  return [isHigherBetter ? paired.byProblem.values : paired.byProblem.values.map((value) => -value)];
};

/** Number of rows whose sum is above 0, and the distribution of this number if all true means were 0. */
export interface CountAbove {
  readonly above: number;
  readonly mean: number;
  /** Number that 95 % of resamples do not exceed. */
  readonly most: number;
  readonly p: number;
}

/**
 * Counts rows whose sum is above 0. A bootstrap under the hypothesis shifts each row to a mean of 0, and
 * resamples problems for all rows together, which keeps the rows' correlation.
 *
 * @returns undefined for no rows, or rows of different lengths
 */
export const countAbove = (rows: readonly Float64Array[], resampling: Resampling): CountAbove | undefined => {
  const n = rows[0]?.length ?? 0;
  if (n === 0 || rows.some(({ length }) => length !== n)) return undefined;
  const ordered = inOwnOrder(rows);
  const sums = ordered.map((row) => row.reduce((sum, value) => sum + value, 0));
  const above = sums.filter((sum) => sum > 1e-9).length;
  const counts: number[] = [];
  const sumsOn = countedSums(ordered);
  for (const drawn of resamplesOf(n, resampling)) {
    let count = 0;
    for (const [at, sum] of sumsOn(drawn).entries()) if (sum - (sums[at] as number) > 1e-9) count += 1;
    counts.push(count);
  }
  const sorted = counts.toSorted((a, b) => a - b);
  return {
    above,
    mean: counts.reduce((sum, count) => sum + count, 0) / counts.length,
    most: sorted[Math.ceil(0.95 * sorted.length) - 1] ?? 0,
    p: (1 + counts.filter((count) => count >= above).length) / (1 + counts.length),
  };
};
