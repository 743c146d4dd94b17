import type { Board, Subject } from '../board.js';
import { differenceCell, meanCell, textCell } from '../cells.js';
import { conclude, isUnsaid } from '../conclusion.js';
import { distinctGroups, type Group, groupsOf, isMerged, rowIn } from '../groups.js';
import { compareRows } from '../paired.js';
import type { Cell, ScoreTable, TableRow } from '../score-table.js';
import { summarise } from '../summaries.js';

const references = ['base', 'language', 'task'] as const;

/**
 * Regressions: the merges of a language in the tasks that they were not made for (English, other benchmarks), against
 * the base and the experts. Configurations are those that are best in the language's own first task.
 */
export const regressions = (board: Board): ScoreTable[] => {
  const rows = board.experiment.languages.flatMap((language) => {
    const own = board.subjects.find((of) => of.language === language);
    if (own === undefined) return [];
    const groups = groupsOf(board, own);
    return (
      distinctGroups(groups)
        .filter(isMerged)
        // The one merge of all languages has its scores in Table 6.
        .filter(({ id }) => id !== 'multilingual')
        .flatMap((group) =>
          board.subjects
            .filter((of) => of !== own)
            .flatMap((subject) => rowOf(board, { language, groups, group, subject })),
        )
    );
  });
  return [
    {
      id: 'regressions',
      title: 'Other tasks and languages',
      caption:
        'Merges of a language in tasks that they were not chosen by: the mean over pairs, and the difference from base and experts.',
      notes: [
        'Worse than: the 95 % interval of the difference is wholly on the worse side, and p is below 5 %; of comparisons of equals one in forty is.',
      ],
      derived: [],
      columns: [
        { id: 'task', label: 'task', kind: 'text' },
        { id: 'score', label: 'merges', kind: 'number' },
        { id: 'base', label: 'less base', kind: 'number' },
        { id: 'language', label: 'less language experts', kind: 'number' },
        { id: 'task-experts', label: 'less task experts', kind: 'number' },
        { id: 'worse', label: 'worse than', kind: 'text' },
      ],
      rows,
      refusals: [],
    },
  ];
};

interface Scored {
  readonly language: string;
  readonly groups: readonly Group[];
  readonly group: Group;
  readonly subject: Subject;
}

const rowOf = (board: Board, { language, groups, group, subject }: Scored): TableRow[] => {
  const summary = summarise(board.scores(group.models, subject));
  if (summary === undefined) return [];
  const worse: string[] = [];
  const doubts = new Set<string>();
  const differences = references.map((id): Cell | null => {
    const reference = groups.find((of) => of.id === id);
    if (reference === undefined || board.results(reference.models, subject).length === 0) return null;
    const compared = board.attempt(() =>
      compareRows(rowIn(group, subject), rowIn(reference, subject), subject.metric, board.resampling),
    );
    if (compared === undefined) return null;
    const { verdict, words } = conclude({ metric: subject.metric, ...compared });
    if (verdict === 'worse') worse.push(reference.label);
    if (isUnsaid(verdict)) doubts.add(words);
    return differenceCell(compared, subject.scale);
  });
  return [
    {
      id: `${language}/${group.id}/${subject.language}/${subject.task}`,
      label: `${language}: ${group.label}, in ${subject.language}`,
      cells: [
        textCell(subject.task),
        meanCell(summary, summary.estimate, subject.scale, {
          ...(group.configuration === undefined ? {} : { configuration: group.configuration }),
        }),
        ...differences,
        worse.length + doubts.size === 0 ? null : textCell([...worse, ...doubts].join(', ')),
      ],
    },
  ];
};
