import type { Board, Subject } from '../boards/board.js';
import { differenceCell, meanCell, textCell } from '../boards/cells.js';
import { distinctGroups, type Group, groupsOf, isMerged } from '../boards/groups.js';
import { type Compared, compare, type Judged, judged, judgedIn } from '../boards/judged.js';
import { summarise } from '../boards/summaries.js';
import { isUnsaid } from '../comparing/conclusion.js';
import { type Cell, type ScoreTable, type TableRow, tableOf } from '../reading/score-table.js';

const references = ['base', 'language', 'task'] as const;

/**
 * Compares a language's merges with base and experts on tasks that did not choose them (English, other
 * benchmarks). Each method has the configuration that is best on the language's first task.
 */
export const regressions = (board: Board): ScoreTable[] => {
  const rows = board.experiment.languages.flatMap((language) => {
    const own = board.subjects.find((of) => of.language === language);
    if (own === undefined) return [];
    const groups = groupsOf(board, own);
    const merged = distinctGroups(groups).filter((group) => isMerged(group) && group.id !== 'multilingual');
    const bySubject = board.subjects
      .filter((of) => of !== own)
      .map((subject) => rowsOf(board, { language, groups, merged, subject }));
    return merged.flatMap((_, at) => bySubject.flatMap((rows) => rows[at] ?? []));
  });
  return [
    tableOf({
      id: 'regressions',
      title: 'Other tasks and languages',
      caption:
        'Merges of a language on tasks that did not choose them: the mean over pairs, and the difference from base and experts.',
      notes: [
        'Worse than: the 95 % interval of the difference is wholly on the worse side, and the adjusted p (Holm’s correction over the language’s merges on this task) is below 5 %. May be chance: only the adjusted p is not.',
      ],
      columns: [
        { id: 'task', label: 'task', kind: 'text' },
        { id: 'score', label: 'merges', kind: 'number' },
        { id: 'base', label: 'less base', kind: 'number' },
        { id: 'language', label: 'less language experts', kind: 'number' },
        { id: 'task-experts', label: 'less task experts', kind: 'number' },
        { id: 'worse', label: 'worse than', kind: 'text' },
      ],
      rows,
    }),
  ];
};

interface Scored {
  readonly language: string;
  readonly groups: readonly Group[];
  readonly merged: readonly Group[];
  readonly subject: Subject;
}

/** Returns a row per group of merges; p is adjusted for all these comparisons. */
const rowsOf = (board: Board, { language, groups, merged, subject }: Scored): (TableRow | undefined)[] => {
  const known = subject.language === language ? judgedIn(board, subject) : [];
  const isKnown = (group: Group, id: string) => (of: Judged) =>
    of.a.id === group.id && of.b.id === id && group.competition === undefined;
  const others = judged(
    merged.flatMap((group) =>
      references.flatMap((id): Compared[] => {
        const reference = groups.find((of) => of.id === id);
        const isScored = (of: Group) => board.results(of.models, subject).length > 0;
        if (reference === undefined || ![group, reference].every(isScored)) return [];
        return known.some(isKnown(group, id)) ? [] : compare(board, group, reference, subject);
      }),
    ),
  );
  return merged.map((group) => {
    const summary = summarise(board.scores(group.models, subject));
    if (summary === undefined) return undefined;
    const own = references.map(
      (id) => known.find(isKnown(group, id)) ?? others.find((of) => of.a === group && of.b.id === id),
    );
    return {
      id: `${language}/${group.id}/${subject.language}/${subject.task}`,
      label: `${language}: ${group.label}, in ${subject.language}`,
      cells: [
        textCell(subject.task),
        meanCell(summary, summary.estimate, subject.scale, {
          ...(group.configuration === undefined ? {} : { configuration: group.configuration }),
          ...board.lack(group.models, subject),
        }),
        ...own.map((of) =>
          of === undefined
            ? null
            : differenceCell(of.result, subject.scale, board.lack(of.b.models, subject)),
        ),
        worseCell(own.filter((of) => of !== undefined)),
      ],
    };
  });
};

/** Names the models that are better than the merges, perhaps by chance, or says why none can be named. */
const worseCell = (compared: readonly Judged[]): Cell | null => {
  const worse = compared.filter(({ conclusion }) => conclusion.verdict === 'worse');
  const maybe = compared.filter(
    ({ conclusion, result }) =>
      conclusion.verdict === 'one of many' && result.difference > 0 !== result.higherIsBetter,
  );
  const doubts = compared.flatMap(({ conclusion }) => (isUnsaid(conclusion.verdict) ? conclusion.words : []));
  const words = [
    ...worse.map(({ b }) => b.label),
    ...maybe.map(({ b }) => `${b.label} (may be chance)`),
    ...new Set(doubts),
  ];
  return words.length === 0 ? null : textCell(words.join(', '));
};
