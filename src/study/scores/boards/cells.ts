import type { PairedComparison } from '../comparing/paired.js';
import {
  type Estimate,
  estimateOfChosen,
  estimateOfExtreme,
  estimateOfMean,
} from '../intervals/estimates.js';
import type { Scale } from '../reading/metrics.js';
import type { ModelScore } from '../reading/model-score.js';
import { type Cell, markBest } from '../reading/score-table.js';
import type { ImportedSummary } from '../reading/scored-experiment.js';
import { meanOf } from '../statistics/mean.js';
import type { Board, Subject } from './board.js';
import { type Group, groupsOf, rowIn } from './groups.js';
import { type Summary, summarise } from './summaries.js';

export type Statistic = ImportedSummary['statistic'];

export const statistics = ['min', 'avg', 'max'] as const satisfies readonly Statistic[];

const percent: Scale = { unit: 'percent', factor: 100, digits: 1 };

/** Returns the scale of a benchmark's first task. For imported figures alone, BLEU or percent. */
export const scaleFor = (board: Board, benchmark: string): Scale =>
  board.subjects.find((of) => of.benchmark === benchmark)?.scale ??
  (benchmark === 'FLORES' ? { unit: 'BLEU', factor: 1, digits: 1 } : percent);

const importUnit = ({ unit, factor }: Scale): ImportedSummary['unit'] =>
  unit === 'BLEU' ? 'BLEU' : factor === 1 ? 'share' : 'percent';

export const numberCell = (value: number, digits: number, more: Partial<Cell> = {}): Cell => ({
  value,
  digits,
  source: 'computed',
  ...more,
});

export const textCell = (value: string, more: Partial<Cell> = {}): Cell => ({
  value,
  digits: 0,
  source: 'computed',
  ...more,
});

export const modelCell = (score: ModelScore, scale: Scale): Cell =>
  numberCell(score.value * scale.factor, scale.digits, {
    n: 1,
    ...errorOf(estimateOfMean([score]), scale),
    model: score.model.name,
  });

export const meanCell = (
  { avg, n }: Summary,
  estimate: Estimate | undefined,
  scale: Scale,
  more: Partial<Cell> = {},
): Cell => numberCell(avg * scale.factor, scale.digits, { n, ...errorOf(estimate, scale), ...more });

/** Returns the lowest or highest score as a cell. Resamples for the interval repeat the choice. */
export const extremeCell = (
  board: Board,
  scores: readonly ModelScore[],
  statistic: 'min' | 'max',
  scale: Scale,
): Cell | null => {
  const summary = summarise(scores);
  if (summary === undefined) return null;
  const { model, value } = summary[statistic];
  const sign = statistic === 'max' ? 1 : -1;
  const estimate = summary.n === 1 ? summary.estimate : estimateOfExtreme(scores, sign, board.resampling);
  const { stderr, ...chosen } = errorOf(estimate, scale);
  return numberCell(value * scale.factor, scale.digits, {
    n: summary.n,
    // The standard error is of the bias-corrected score, which is not shown: omitted for several models.
    ...(summary.n === 1 && stderr !== undefined ? { stderr } : {}),
    ...chosen,
    model: model.name,
  });
};

const errorOf = (
  estimate: Estimate | undefined,
  { factor }: Scale,
): Pick<Cell, 'stderr' | 'interval' | 'estimand'> => {
  if (estimate === undefined) return {};
  const { stderr, interval, estimand } = estimate;
  return {
    stderr: stderr * factor,
    ...(interval === undefined ? {} : { interval: [interval[0] * factor, interval[1] * factor] as const }),
    estimand,
  };
};

/** Returns the estimate of a group's mean. If chosen on the same problems, resamples repeat the choice. */
export const estimateOf = (
  board: Board,
  group: Group,
  subject: Subject,
  summary: Summary,
): Estimate | undefined => {
  const row = rowIn(group, subject);
  if (row.candidates === undefined) return summary.estimate;
  const { isHigherBetter } = summary.max;
  return estimateOfChosen(row, subject.metric, isHigherBetter ? 1 : -1, board.resampling);
};

const summaryCell = (
  board: Board,
  group: Group,
  subject: Subject,
  statistic: Statistic,
  scale: Scale,
): Cell | null => {
  const scores = board.scores(group.models, subject);
  const summary = summarise(scores);
  if (summary === undefined) return null;
  const named = group.configuration === undefined ? {} : { configuration: group.configuration };
  if (statistic === 'avg')
    return meanCell(summary, estimateOf(board, group, subject, summary), scale, {
      ...(summary.n === 1 ? { model: summary.min.model.name } : {}),
      ...named,
      ...board.lack(group.models, subject),
    });
  const cell = extremeCell(board, scores, statistic, scale);
  // The best pair of the best configuration was chosen twice; no interval is known for such a choice.
  if (cell === null || rowIn(group, subject).candidates === undefined) return cell && { ...cell, ...named };
  const { interval: _, estimand: __, ...chosenTwice } = cell;
  return { ...chosenTwice, ...named };
};

/** Identifies the figure of a group in a language. The group may have been chosen in another language. */
export interface CellKey {
  readonly benchmark: string;
  readonly group: string;
  /** Language in which the group's configuration was chosen. */
  readonly subject: string;
  readonly language: string;
  readonly statistic: Statistic;
}

export const groupOf = (board: Board, { benchmark, group, subject }: CellKey): Group | undefined => {
  const chosenIn = board.subject(benchmark, subject);
  return chosenIn === undefined ? undefined : groupsOf(board, chosenIn).find(({ id }) => id === group);
};

/** Returns a computed figure, else an imported figure, else null. */
export const figure = (board: Board, key: CellKey, scale = scaleFor(board, key.benchmark)): Cell | null => {
  const group = groupOf(board, key);
  const subject = board.subject(key.benchmark, key.language);
  const cell =
    group === undefined || subject === undefined
      ? null
      : summaryCell(board, group, subject, key.statistic, scale);
  if (group !== undefined && cell !== null) {
    const isOwn = key.subject === key.language && key.statistic === 'avg';
    return isOwn && group.otherHalf !== undefined
      ? { ...cell, otherHalf: group.otherHalf * scale.factor }
      : cell;
  }
  return board.imported.cell(key, { ...scale, unit: importUnit(scale) }) ?? null;
};

/** Returns the mean over languages; null if the group lacks scores in a language. */
export const meanOverLanguages = (
  board: Board,
  group: Pick<Group, 'models' | 'configuration'>,
  subjects: readonly Subject[],
  scale: Scale,
): Cell | null => {
  const summaries = subjects.map((subject) => summarise(board.scores(group.models, subject)));
  const n = group.models.length;
  if (summaries.length === 0 || summaries.some((summary) => summary?.n !== n)) return null;
  const { configuration } = group;
  const mean = meanOf(summaries.map((summary) => (summary as Summary).avg));
  return numberCell(mean * scale.factor, scale.digits, {
    n,
    ...(configuration === undefined ? {} : { configuration }),
  });
};

export const meanOfCells = (cells: readonly (Cell | null)[]): Cell | null => {
  const values = cells.flatMap((cell) => (typeof cell?.value === 'number' ? cell.value : []));
  const first = cells.find((cell) => cell !== null);
  return first === undefined || first === null || values.length < cells.length
    ? null
    : numberCell(meanOf(values), first.digits);
};

export const differenceCell = (
  { difference, interval, p, estimand }: PairedComparison,
  { factor, digits }: Scale,
  more: Partial<Cell> = {},
): Cell =>
  numberCell(difference * factor, digits, {
    ...(interval === undefined ? {} : { interval: [interval[0] * factor, interval[1] * factor] as const }),
    ...(p === undefined ? {} : { p }),
    ...(estimand === undefined ? {} : { estimand }),
    ...more,
  });

/** True if a higher score is better. This is assumed if there are only imported figures. */
export const isMoreBetter = (board: Board, benchmark: string): boolean => {
  for (const subject of board.subjects.filter((of) => of.benchmark === benchmark)) {
    const [score] = board.scores(board.experiment.models, subject);
    if (score !== undefined) return score.isHigherBetter;
  }
  return true;
};

/** Marks a row's best figures, unless its problems cannot decide (`whyNoBest`). */
export const markBestIn = (
  board: Board,
  subjects: readonly (Subject | undefined)[],
  cells: readonly (Cell | null)[],
  isHigherBetter: boolean,
): readonly (Cell | null)[] =>
  subjects.some((subject) => subject !== undefined && board.whyNoBest(subject) !== undefined)
    ? cells
    : markBest(cells, isHigherBetter);

/** Returns a table's id; for MGSM, the paper's benchmark, only the layout's name. */
export const idOf = (layout: string, benchmark: string): string =>
  benchmark === 'MGSM' ? layout : `${layout}/${benchmark.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}`;
