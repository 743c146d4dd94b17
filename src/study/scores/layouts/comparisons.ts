import type { Board } from '../boards/board.js';
import { numberCell, textCell } from '../boards/cells.js';
import { areAlone, type Group } from '../boards/groups.js';
import { type Judged, judgedIn } from '../boards/judged.js';
import { type Cell, type ScoreTable, type TableRow, tableOf } from '../reading/score-table.js';

/**
 * Paired comparisons of every group of merges with every other group; without merges, of a few models. p is
 * adjusted within a language and task.
 */
export const comparisons = (board: Board): ScoreTable[] => [
  tableOf({
    id: 'comparisons',
    title: 'Paired comparisons by problem',
    caption:
      'Difference of the means of two groups of models on the same problems, with 95 % interval and two-sided p-value.',
    notes: [
      'Intervals and p are about experts and problems like these; of one model against one about these models only, and p is McNemar’s exact one for scores of 0 and 1.',
      'Interval and p are those of one comparison alone: the interval excludes 0 where p is below 5 %. Adjusted p: Holm, for all comparisons of a language and task.',
      'The verdict is of the first: better or worse only if the adjusted p is below 5 %; not shown to differ if p is, and the adjusted p is not.',
      'A configuration that was chosen by the same problems looks better than it is; its interval and p choose it again, and are marked.',
    ],
    columns: [
      { id: 'task', label: 'task', kind: 'text' },
      { id: 'problems', label: 'problems', kind: 'number' },
      { id: 'difference', label: 'difference', kind: 'number' },
      { id: 'low', label: 'low', kind: 'number' },
      { id: 'high', label: 'high', kind: 'number' },
      { id: 'only-a', label: 'only the first', kind: 'number' },
      { id: 'only-b', label: 'only the second', kind: 'number' },
      { id: 'p', label: 'p', kind: 'number' },
      { id: 'adjusted-p', label: 'adjusted p', kind: 'number' },
      { id: 'verdict', label: 'verdict', kind: 'text' },
    ],
    rows: (areAlone(board) ? [...board.experiment.tasks.keys()] : board.languages).flatMap((language) =>
      board.subjects
        .filter((of) => of.language === language)
        .flatMap((subject) => judgedIn(board, subject).map(rowOf)),
    ),
  }),
];

const isChosen = ({ competition }: Group): boolean => (competition?.candidates.length ?? 1) > 1;

const rowOf = ({ subject, a, b, result, adjusted, conclusion }: Judged): TableRow => {
  const { factor, digits } = subject.scale;
  const { n, difference, interval, onlyA, onlyB, p, reason } = result;
  const chosen = [a, b].filter(isChosen).map(({ label, configuration }) => `${label} (${configuration})`);
  const flag = chosen.length === 0 ? {} : { flag: `${chosen.join(' and ')} chosen by the same problems` };
  const cell = (value: number | undefined, places: number, more: Partial<Cell> = {}): Cell | null =>
    value === undefined ? null : numberCell(value, places, more);
  return {
    id: `${subject.language}/${subject.task}/${a.id}/${b.id}`,
    label: `${subject.language}: ${a.label} less ${b.label}`,
    cells: [
      textCell(subject.task),
      numberCell(n, 0),
      numberCell(difference * factor, digits, reason === undefined ? {} : { flag: reason }),
      cell(interval === undefined ? undefined : interval[0] * factor, digits),
      cell(interval === undefined ? undefined : interval[1] * factor, digits),
      cell(onlyA, 0),
      cell(onlyB, 0),
      cell(p, 4, flag),
      cell(adjusted, 4, flag),
      textCell(conclusion.words),
    ],
  };
};
