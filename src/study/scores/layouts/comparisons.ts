import type { Board } from '../boards/board.js';
import { numberCell, textCell } from '../boards/cells.js';
import { areAlone, type Group } from '../boards/groups.js';
import { type Judged, judgedIn } from '../boards/judged.js';
import { type Cell, type ScoreTable, type TableRow, tableOf } from '../reading/score-table.js';

/**
 * Paired comparisons of every group of merges with every other group; without merges, of every two of a few models. p
 * is adjusted within a language and task.
 */
export const comparisons = (board: Board): ScoreTable[] => [
  tableOf({
    id: 'comparisons',
    title: 'Paired comparisons by problem',
    caption:
      'Difference of the means of two groups of models on the same problems, with 95 % interval and two-sided p-value.',
    notes: [
      'Intervals and p are for experts and problems like these. For two single models, they are for these models only; p is from McNemar’s exact test if scores are 0 or 1.',
      'Interval and p are for each comparison alone: the interval excludes 0 if p is below 5 %. Adjusted p: Holm’s correction for all comparisons of a language and task.',
      'The verdict is on the first group: better or worse only if the adjusted p is below 5 %; “not shown to differ” if only p is.',
      'A configuration that was chosen on the same problems looks better than it is. To correct for this, its interval and p repeat the choice in each bootstrap resample; they are marked.',
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
  const flag = chosen.length === 0 ? {} : { flag: `${chosen.join(' and ')} chosen on the same problems` };
  const cell = (value: number | undefined, places: number, more: Partial<Cell> = {}): Cell | null =>
    value === undefined ? null : numberCell(value, places, more);
  return {
    id: `${subject.language}/${subject.task}/${a.id}/${b.id}`,
    label: `${subject.language}: ${a.label} minus ${b.label}`,
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
