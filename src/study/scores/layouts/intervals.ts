import type { Board, Subject } from '../boards/board.js';
import { estimateOf, extremeCell, meanCell, numberCell, textCell } from '../boards/cells.js';
import { distinctGroups, type Group, groupsOf, rowIn } from '../boards/groups.js';
import { summarise } from '../boards/summaries.js';
import { type Cell, type ScoreTable, type TableRow, tableOf } from '../reading/score-table.js';

/**
 * Tabulates intervals of every group's mean, lowest and highest score, and a standard error that treats
 * models as independent.
 */
export const intervals = (board: Board): ScoreTable[] => [
  tableOf({
    id: 'intervals',
    title: 'Intervals',
    caption:
      'Mean, lowest and highest score of each group of models, with the 95 % interval and the population that it describes.',
    notes: [
      'Standard error: experts and problems are crossed random effects. Plain: s/√n over the models, as if they were independent.',
      'The lowest, highest and best models were picked by their scores on these problems. To correct for this, their intervals repeat the pick in each bootstrap resample.',
    ],
    columns: [
      { id: 'task', label: 'task', kind: 'text' },
      { id: 'score', label: 'score', kind: 'number' },
      { id: 'low', label: 'low', kind: 'number' },
      { id: 'high', label: 'high', kind: 'number' },
      { id: 'stderr', label: 'standard error', kind: 'number' },
      { id: 'plain-stderr', label: 'plain', kind: 'number' },
      { id: 'estimand', label: 'about', kind: 'text' },
    ],
    rows: board.languages.flatMap((language) =>
      board.subjects
        .filter((of) => of.language === language)
        .flatMap((subject) =>
          distinctGroups(groupsOf(board, subject)).flatMap((group) => rowsOf(board, group, subject)),
        ),
    ),
  }),
];

const rowsOf = (board: Board, group: Group, subject: Subject): TableRow[] => {
  const { scale, language, task } = subject;
  const scores = board.scores(group.models, subject);
  const summary = summarise(scores);
  if (summary === undefined) return [];
  const row = (statistic: string, cell: Cell | null, plain?: number): TableRow[] => {
    if (cell === null) return [];
    const { value, digits, stderr, interval, estimand, ...facts } = cell;
    const number = (of: number | undefined): Cell | null =>
      of === undefined ? null : numberCell(of, digits);
    return [
      {
        id: `${language}/${task}/${group.id}/${statistic}`,
        label: `${language}: ${group.label}, ${statistic}`,
        cells: [
          textCell(task),
          { ...facts, value, digits },
          number(interval?.[0]),
          number(interval?.[1]),
          number(stderr),
          number(plain === undefined ? undefined : plain * scale.factor),
          estimand === undefined || interval === undefined ? null : textCell(estimand),
        ],
      },
    ];
  };
  const mean = meanCell(summary, estimateOf(board, group, subject, summary), scale);
  const isChosenTwice = rowIn(group, subject).candidates !== undefined;
  return [
    ...row('avg', mean, summary.plainStderr),
    ...(summary.n === 1 || isChosenTwice
      ? []
      : (['min', 'max'] as const).flatMap((statistic) =>
          row(statistic, extremeCell(board, scores, statistic, scale)),
        )),
  ];
};
