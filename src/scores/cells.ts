import type { Board, Subject } from './board.js';
import { type Group, groupsOf } from './groups.js';
import type { Scale } from './metrics.js';
import type { PairedComparison } from './paired.js';
import type { Cell } from './score-table.js';
import type { ImportedSummary } from './scored-experiment.js';
import { type ModelScore, meanOf, type Summary, summarise } from './summaries.js';

export type Statistic = ImportedSummary['statistic'];

export const statistics = ['min', 'avg', 'max'] as const satisfies readonly Statistic[];

const percent: Scale = { unit: 'percent', factor: 100, digits: 1 };

/** Returns the scale of a benchmark: its first task's; of imported figures alone, BLEU or percent. */
export const scaleFor = (board: Board, benchmark: string): Scale =>
  board.subjects.find((of) => of.benchmark === benchmark)?.scale ??
  (benchmark === 'FLORES' ? { unit: 'BLEU', factor: 1, digits: 1 } : percent);

const importUnit = ({ unit, factor }: Scale): ImportedSummary['unit'] =>
  unit === 'BLEU' ? 'BLEU' : factor === 1 ? 'share' : 'percent';

export const textCell = (value: string, more: Partial<Cell> = {}): Cell => ({
  value,
  digits: 0,
  source: 'computed',
  ...more,
});

/** Returns a plain number as a cell: a count, a difference. */
export const numberCell = (value: number, digits: number, more: Partial<Cell> = {}): Cell => ({
  value,
  digits,
  source: 'computed',
  ...more,
});

export const modelCell = (score: ModelScore, { factor, digits }: Scale): Cell => ({
  value: score.value * factor,
  digits,
  n: 1,
  ...(score.stderr === undefined ? {} : { stderr: score.stderr * factor }),
  model: score.model.name,
  source: 'computed',
});

const summaryCell = (summary: Summary, statistic: Statistic, group: Group, scale: Scale): Cell => {
  const { configuration } = group;
  const named = configuration === undefined ? {} : { configuration };
  if (statistic !== 'avg') return { ...modelCell(summary[statistic], scale), ...named, n: summary.n };
  return {
    value: summary.avg * scale.factor,
    digits: scale.digits,
    n: summary.n,
    ...(summary.stderr === undefined ? {} : { stderr: summary.stderr * scale.factor }),
    ...(summary.n === 1 ? { model: summary.min.model.name } : {}),
    ...named,
    source: 'computed',
  };
};

/** A cell of a group's statistic: the group of the models of a language, scored in another or the same. */
export interface CellKey {
  readonly benchmark: string;
  readonly group: string;
  /** The language that the group is of, in which its configurations were chosen. */
  readonly subject: string;
  /** The language that it is scored in. */
  readonly language: string;
  readonly statistic: Statistic;
}

/** Returns the group of a language whose configurations were chosen in the benchmark. */
export const groupOf = (board: Board, { benchmark, group, subject }: CellKey): Group | undefined => {
  const chosenIn = board.subject(benchmark, subject);
  return chosenIn === undefined ? undefined : groupsOf(board, chosenIn).find(({ id }) => id === group);
};

/** Returns a computed figure, else an imported one, else null. */
export const figure = (board: Board, key: CellKey, scale = scaleFor(board, key.benchmark)): Cell | null => {
  const group = groupOf(board, key);
  const subject = board.subject(key.benchmark, key.language);
  const summary =
    group === undefined || subject === undefined ? undefined : summarise(board.scores(group.models, subject));
  if (group !== undefined && summary !== undefined) {
    const cell = summaryCell(summary, key.statistic, group, scale);
    const isOwn = key.subject === key.language && key.statistic === 'avg';
    return isOwn && group.otherHalf !== undefined
      ? { ...cell, otherHalf: group.otherHalf * scale.factor }
      : cell;
  }
  return board.imported.cell(key, { ...scale, unit: importUnit(scale) }) ?? null;
};

/** Returns the mean over languages of a group's mean scores; null unless it is scored in each of them. */
export const meanOverLanguages = (
  board: Board,
  group: Group,
  subjects: readonly Subject[],
  scale: Scale,
): Cell | null => {
  const summaries = subjects.map((subject) => summarise(board.scores(group.models, subject)));
  const n = group.models.length;
  if (summaries.length === 0 || summaries.some((summary) => summary?.n !== n)) return null;
  const { configuration } = group;
  return {
    value: meanOf(summaries.map((summary) => (summary as Summary).avg)) * scale.factor,
    digits: scale.digits,
    n,
    ...(configuration === undefined ? {} : { configuration }),
    source: 'computed',
  };
};

/** Returns a difference as a cell, on the scale shown, with its interval and p-value. */
export const differenceCell = (
  { difference, interval, p }: PairedComparison,
  { factor, digits }: Scale,
  more: Partial<Cell> = {},
): Cell => ({
  value: difference * factor,
  digits,
  ...(interval === undefined ? {} : { interval: [interval[0] * factor, interval[1] * factor] as const }),
  ...(p === undefined ? {} : { p }),
  source: 'computed',
  ...more,
});

/** Returns true if more is better in a subject's metric; for imported figures alone, true. */
export const isMoreBetter = (board: Board, benchmark: string): boolean => {
  for (const subject of board.subjects.filter((of) => of.benchmark === benchmark)) {
    const [score] = board.scores(board.experiment.models, subject);
    if (score !== undefined) return score.isHigherBetter;
  }
  return true;
};

/** Returns the id of a layout's table: MGSM is the paper's benchmark and has the plain name. */
export const idOf = (layout: string, benchmark: string): string =>
  benchmark === 'MGSM' ? layout : `${layout}/${benchmark.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}`;
