import { groupBy } from '../../../core/base/errors/lookup.js';
import { taskOf } from '../../evaluation/data/task-facts.js';
import type { Board, Subject } from '../boards/board.js';
import { type Group, groupsOf, undecidedIn } from '../boards/groups.js';
import { summarise } from '../boards/summaries.js';
import { fixed, type TableRow } from '../reading/score-table.js';

interface NoteScope {
  readonly languages?: readonly string[];
  readonly groups?: readonly string[];
}

export const benchmarkNotes = (
  board: Board,
  benchmark: string,
  { languages = board.languages, groups }: NoteScope = {},
): string[] => {
  const subjects = board.subjects.filter((of) => of.benchmark === benchmark);
  if (subjects.length === 0) return [];
  const scores = subjects.map((subject) => board.scores(board.experiment.models, subject));
  const counts = [...new Set(scores.flat().map(({ n }) => n))].sort((a, b) => a - b);
  const metrics = [...new Set(subjects.map(({ metric }) => metric))];
  const drawn = new Set(
    scores
      .flat()
      .flatMap(({ result: { sampling, drawn } }) =>
        sampling === null ? [] : `${drawn?.runs.length ?? 1} answers to each, sampled with ${sampling}`,
      ),
  );
  return [
    `Metric ${metrics.join(', ')}; ${[`${counts.join(', ')} problems`, ...drawn].join('; ')}.`,
    ...new Set(subjects.flatMap(({ task }) => taskOf(task)?.caveat ?? [])),
    ...undecidedNotes(board, subjects),
    ...languages.flatMap((language) => choiceNotes(board, benchmark, language, groups)),
    ...languages.flatMap((language) => missingNotes(board, benchmark, language, groups)),
  ];
};

const missingNotes = (
  board: Board,
  benchmark: string,
  language: string,
  groups: readonly string[] | undefined,
): string[] => {
  const subject = board.subject(benchmark, language);
  if (subject === undefined) return [];
  return groupsOf(board, subject).flatMap(({ id, label, models, missing }) =>
    missing === undefined || missing === 0 || groups?.includes(id) === false
      ? []
      : [`${language}: ${label}: ${models.length} of ${models.length + missing} models have scores.`],
  );
};

const undecidedNotes = (board: Board, subjects: readonly Subject[]): string[] => {
  const reasons = groupBy(subjects, (subject) => board.whyNoBest(subject));
  return [...reasons].flatMap(([reason, of]) =>
    reason === undefined
      ? []
      : [
          `${[...new Set(of.map(({ language }) => language))].join(', ')}: no model is called the best: ${reason}.`,
        ],
  );
};

const choiceNotes = (
  board: Board,
  benchmark: string,
  language: string,
  groups: readonly string[] | undefined,
): string[] => {
  const subject = board.subject(benchmark, language);
  if (subject === undefined) return [];
  const { factor, digits } = subject.scale;
  const undecided =
    board.whyNoBest(subject) === undefined
      ? undecidedIn(board, subject).map(
          ({ label, reason }) => `${language}: ${label} is not chosen: ${reason}.`,
        )
      : [];
  const chosen = groupsOf(board, subject).flatMap((group: Group) => {
    const { label, configuration, competition, otherHalf } = group;
    if (competition === undefined) return [];
    if (groups?.includes(group.id) === false) return [];
    const { candidates, incomplete } = competition;
    if (candidates.length < 2 && incomplete === 0) return [];
    const all = summarise(board.scores(group.models, subject));
    const left = incomplete > 0 ? `; ${incomplete} without scores for some pairs are excluded` : '';
    const half =
      candidates.length < 2
        ? ''
        : otherHalf === undefined || all === undefined
          ? '; without results for single problems, the bias of the choice is unknown'
          : `; ${fixed(all.avg * factor, digits)} on the problems on which it was chosen, ` +
            `${fixed(otherHalf * factor, digits)} chosen on one half and scored on the other`;
    return [
      `${language}: ${label} is ${configuration}, the best mean of ${candidates.length} configurations${half}${left}.`,
    ];
  });
  return [...undecided, ...chosen];
};

export const extremeNote =
  'The lowest and highest of several models were picked by their scores on these problems. To correct for this, their intervals repeat the pick in each bootstrap resample. They are for these models only.';

export const hasIntervals = (rows: readonly TableRow[]): boolean =>
  rows.some(({ cells }) => cells.some((cell) => cell?.interval !== undefined && cell.stderr === undefined));

export const halfNote =
  'In brackets: the score if the configuration is chosen on one half of the problems and scored on the other.';
