import type { Board, Subject } from '../boards/board.js';
import { differenceCell, idOf, isMoreBetter, meanOfCells, numberCell } from '../boards/cells.js';
import {
  distinctGroups,
  type Group,
  groupsOf,
  isMerged,
  labelIn,
  rowIn,
  sortGroups,
} from '../boards/groups.js';
import { compare } from '../boards/judged.js';
import { summarise } from '../boards/summaries.js';
import { compareRows, type PairedComparison } from '../comparing/paired.js';
import { onlyThese, rowOf } from '../intervals/rows.js';
import type { ModelScore } from '../reading/model-score.js';
import { type Cell, type ScoreTable, type TableRow, tableOf } from '../reading/score-table.js';
import type { ScoredModel } from '../reading/scored-experiment.js';
import { benchmarkNotes, halfNote } from './notes.js';

const baselines = ['expert', 'base'] as const;

const baselineLabels = { expert: 'the best single expert', base: 'the base' } as const;

/**
 * Gains by language and method, in points, as in Fig. 2 of the follow-up paper: the mean over pairs minus the
 * score of the best single expert, or of the base. Positive is better, for perplexities too.
 */
export const gains = (board: Board): ScoreTable[] =>
  board.benchmarks.map((benchmark) => {
    const subjects = board.languages.flatMap((language) => board.subject(benchmark, language) ?? []);
    const merged = sortGroups(
      subjects.flatMap((subject) => mergedGroups(board, subject).map(({ id }) => id)),
    );
    const references = sortGroups(subjects.flatMap((subject) => referenceGroups(board, subject)));
    const ids = sortGroups([...references, ...merged]);
    const sign = isMoreBetter(board, benchmark) ? 1 : -1;
    const rows = baselines.flatMap((baseline) =>
      ids
        .filter((id) => baseline === 'base' || !singleExperts.includes(id))
        .map((id): TableRow => {
          const cells = subjects.map((subject) => gain(board, subject, id, baseline, sign));
          return {
            id: `${id}/${baseline}`,
            label: `${labelIn(board, subjects, id)}, over ${baselineLabels[baseline]}`,
            cells: [...cells, meanOfCells(cells)],
          };
        }),
    );
    return tableOf({
      id: idOf('gains', benchmark),
      title: `${benchmark}: gain by language and method`,
      caption:
        'Mean over pairs, or over references trained without merging, minus the best single expert or the base (as in Fig. 2 of the follow-up paper). Positive is better.',
      notes: [
        ...benchmarkNotes(board, benchmark, { groups: ids }),
        'The best single expert is chosen on the same problems, which favours it. To correct for this, intervals repeat the choice in each bootstrap resample. They are for these experts only.',
        ...(rows.some(({ cells }) => cells.some((cell) => cell?.otherHalf !== undefined)) ? [halfNote] : []),
      ],
      columns: [
        ...subjects.map(({ language }) => ({ id: language, label: language, kind: 'number' as const })),
        { id: 'mean', label: 'mean', kind: 'number' as const },
      ],
      rows: merged.length === 0 ? [] : rows.filter(({ cells }) => cells.some((cell) => cell !== null)),
    });
  });

const singleExperts: readonly string[] = ['task', 'language'];

/** Groups that were trained, not merged: experts, joint SFT and further roles. */
const referenceGroups = (board: Board, subject: Subject): string[] =>
  groupsOf(board, subject)
    .filter((group) => !isMerged(group) && group.id !== 'base')
    .map(({ id }) => id);

const mergedGroups = (board: Board, subject: Subject): Group[] =>
  distinctGroups(groupsOf(board, subject)).filter(isMerged);

const experts = (board: Board, subject: Subject): ModelScore[] =>
  groupsOf(board, subject)
    .filter(({ id }) => id === 'language' || id === 'task')
    .flatMap(({ models }) => board.scores(models, subject));

const bestExpert = (board: Board, subject: Subject): ModelScore | undefined => {
  const summary = summarise(experts(board, subject));
  if (summary === undefined) return undefined;
  return summary.max.isHigherBetter ? summary.max : summary.min;
};

const gain = (
  board: Board,
  subject: Subject,
  id: string,
  baseline: (typeof baselines)[number],
  sign: number,
): Cell | null => {
  const groups = groupsOf(board, subject);
  const group = groups.find((of) => of.id === id);
  const base = groups.find((of) => of.id === 'base');
  const against = baseline === 'expert' ? bestExpert(board, subject)?.model : base?.models[0];
  if (group === undefined || against === undefined || board.whyNoBest(subject) !== undefined) return null;
  const compared =
    baseline === 'expert'
      ? board.attempt(() => overExpert(board, subject, group, against))
      : base && compare(board, group, base, subject)[0]?.result;
  if (compared === undefined) return null;
  const { configuration, otherHalf, models } = group;
  const { factor } = subject.scale;
  const score = board.scores([against], subject)[0]?.value ?? Number.NaN;
  return {
    ...differenceCell(turned(compared, sign), subject.scale),
    n: models.length,
    ...(configuration === undefined ? {} : { configuration }),
    ...(otherHalf === undefined ? {} : { otherHalf: sign * (otherHalf - score) * factor }),
    model: against.name,
  };
};

/**
 * Compares the group with the best expert. The models are fixed, because the best of these experts says
 * nothing about other experts.
 */
const overExpert = (board: Board, subject: Subject, group: Group, expert: ScoredModel): PairedComparison =>
  compareRows(
    onlyThese(rowIn(group, subject)),
    rowOf(
      [expert],
      subject.task,
      experts(board, subject).map(({ model }) => [model]),
    ),
    subject.metric,
    board.resampling,
  );

const turned = (compared: PairedComparison, sign: number): PairedComparison =>
  sign > 0
    ? compared
    : {
        ...compared,
        difference: -compared.difference,
        interval:
          compared.interval === undefined ? undefined : [-compared.interval[1], -compared.interval[0]],
      };

/** Wins: the number of pairs whose merge beats both experts, of pairs with all three scores. */
export const wins = (board: Board): ScoreTable[] =>
  board.benchmarks.map((benchmark) => {
    const subjects = board.languages.flatMap((language) => board.subject(benchmark, language) ?? []);
    const ids = sortGroups(subjects.flatMap((subject) => mergedGroups(board, subject).map(({ id }) => id)));
    const rows = ids.map(
      (id): TableRow => ({
        id,
        label: labelIn(board, subjects, id),
        cells: subjects.flatMap((subject) => winsOf(board, subject, id)),
      }),
    );
    return tableOf({
      id: idOf('wins', benchmark),
      title: `${benchmark}: pairs above both experts`,
      caption: 'Number of pairs whose merge scores above both experts, out of all pairs.',
      notes: benchmarkNotes(board, benchmark, { groups: ids }),
      columns: subjects.flatMap(({ language }) => [
        { id: `${language}/wins`, label: `${language}, wins`, kind: 'number' as const },
        { id: `${language}/pairs`, label: 'of', kind: 'number' as const },
      ]),
      rows: rows.filter(({ cells }) => cells.some((cell) => cell !== null)),
    });
  });

const winsOf = (board: Board, subject: Subject, id: string): [Cell | null, Cell | null] => {
  const group: Group | undefined = groupsOf(board, subject).find((of) => of.id === id);
  if (group === undefined || board.whyNoBest(subject) !== undefined) return [null, null];
  const byName = new Map(
    board.scores(board.experiment.models, subject).map((score) => [score.model.name, score]),
  );
  const decided = group.models.flatMap(({ name, task, languageExpert }) => {
    const [merge, ...experts] = [name, task ?? '', languageExpert ?? ''].map((of) => byName.get(of));
    if (merge === undefined || experts.includes(undefined)) return [];
    const sign = merge.isHigherBetter ? 1 : -1;
    return [experts.every((expert) => expert !== undefined && sign * merge.value > sign * expert.value)];
  });
  if (decided.length === 0) return [null, null];
  const { configuration } = group;
  const more = { n: decided.length, ...(configuration === undefined ? {} : { configuration }) };
  return [numberCell(decided.filter(Boolean).length, 0, more), numberCell(decided.length, 0, more)];
};
