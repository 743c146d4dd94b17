import type { Board, Subject } from '../board.js';
import { numberCell, textCell } from '../cells.js';
import { distinctGroups, type Group, groupsOf, isMerged } from '../groups.js';
import { comparePooled } from '../paired.js';
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
      notes: ['Worse than: the 95 % interval of the difference is wholly on the worse side.'],
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
  const { factor, digits } = subject.scale;
  const sign = summary.max.isHigherBetter ? 1 : -1;
  const worse: string[] = [];
  const differences = references.map((id): Cell | null => {
    const reference = groups.find((of) => of.id === id);
    const against = reference === undefined ? [] : board.results(reference.models, subject);
    if (reference === undefined || against.length === 0) return null;
    const compared = board.attempt(() =>
      comparePooled(board.results(group.models, subject), against, subject.metric, board.resampling),
    );
    if (compared === undefined) return null;
    const { difference, interval, p } = compared;
    const isWorse = interval !== undefined && Math.max(sign * interval[0], sign * interval[1]) < 0;
    if (isWorse) worse.push(reference.label);
    return numberCell(difference * factor, digits, {
      ...(interval === undefined ? {} : { interval: [interval[0] * factor, interval[1] * factor] as const }),
      ...(p === undefined ? {} : { p }),
    });
  });
  return [
    {
      id: `${language}/${group.id}/${subject.language}/${subject.task}`,
      label: `${language}: ${group.label}, in ${subject.language}`,
      cells: [
        textCell(subject.task),
        numberCell(summary.avg * factor, digits, {
          n: summary.n,
          ...(summary.stderr === undefined ? {} : { stderr: summary.stderr * factor }),
          ...(group.configuration === undefined ? {} : { configuration: group.configuration }),
        }),
        ...differences,
        worse.length === 0 ? null : textCell(worse.join(', ')),
      ],
    },
  ];
};
