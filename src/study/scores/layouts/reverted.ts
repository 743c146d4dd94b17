import { groupBy } from '../../../core/base/errors/lookup.js';
import type { Board, Subject } from '../boards/board.js';
import { idOf, meanCell, meanOfCells } from '../boards/cells.js';
import { summarise } from '../boards/summaries.js';
import { distinctMerges } from '../reading/configurations.js';
import { type Cell, type ScoreTable, type TableRow, tableOf } from '../reading/score-table.js';
import type { ScoredModel } from '../reading/scored-experiment.js';
import { differences, type Sides } from './differences.js';
import { benchmarkNotes } from './notes.js';

/**
 * Compares reverted task experts with intact ones and the base, in every language (§3.3). Reverted: some
 * layers, or rows with small changes, have the base's values.
 */
export const reverted = (board: Board): ScoreTable[] => {
  const { models } = board.experiment;
  const merges = models.filter(
    ({ method, task, languageExpert, variant }) =>
      method === 'revert' && task !== null && languageExpert === null && variant !== null,
  );
  const variants = groupBy(distinctMerges(merges), ({ variant }) => variant ?? '');
  const ofRole = (role: string) => models.filter((model) => model.role === role);
  const groups: readonly (readonly [id: string, label: string, models: readonly ScoredModel[]])[] = [
    ['base', 'base', ofRole('base')],
    ['task', 'task experts', ofRole('task')],
    ...[...variants].map(([variant, of]) => [variant, `reverted: ${variant}`, of] as const),
  ];
  return board.benchmarks.flatMap((benchmark) => {
    const subjects = [...board.experiment.tasks.keys()].flatMap(
      (language) => board.subject(benchmark, language) ?? [],
    );
    const rows = groups.map(([id, label, of]): TableRow => {
      const cells = subjects.map((subject) => cellOf(board, subject, of));
      return { id, label, cells: subjects.length > 1 ? [...cells, meanOfCells(cells)] : cells };
    });
    const hasAny = rows.slice(2).some(({ cells }) => cells.some((cell) => cell !== null));
    const columns = [...subjects.map(({ language }) => language), ...(subjects.length > 1 ? ['mean'] : [])];
    const scores: ScoreTable = tableOf({
      id: idOf('reverted', benchmark),
      title: `${benchmark}: reverted task experts`,
      caption: 'Mean over task experts with some of their changes reverted to the base (§3.3 of the paper).',
      notes: benchmarkNotes(board, benchmark, { languages: [] }),
      columns: columns.map((column) => ({ id: column, label: column, kind: 'number' as const })),
      rows: hasAny ? rows.filter(({ cells }) => cells.some((cell) => cell !== null)) : [],
    });
    const compared = differences(board, {
      of: scores.id,
      title: `${scores.title}, differences`,
      caption:
        'Each row minus the same task experts without reverting, on the same problems, with 95 % interval and two-sided p.',
      subjects,
      contrasts: [...variants].map(([variant, of]) => ({
        id: variant,
        label: `reverted: ${variant}, minus task experts`,
        sides: ({ task }) => withExperts(of, ofRole('task'), task),
      })),
    });
    return [scores, compared];
  });
};

const withExperts = (
  models: readonly ScoredModel[],
  experts: readonly ScoredModel[],
  task: string,
): Sides => {
  const scored = experts.filter(({ results }) => results.has(task));
  const both = models.filter(
    (model) => model.results.has(task) && scored.some(({ name }) => name === model.task),
  );
  return [both, scored.filter(({ name }) => both.some((model) => model.task === name))];
};

const cellOf = (board: Board, subject: Subject, models: readonly ScoredModel[]): Cell | null => {
  const summary = summarise(board.scores(models, subject));
  return summary === undefined ? null : meanCell(summary, summary.estimate, subject.scale);
};
