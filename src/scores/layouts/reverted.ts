import type { Board, Subject } from '../board.js';
import { idOf, meanCell } from '../cells.js';
import type { Cell, ScoreTable, TableRow } from '../score-table.js';
import type { ScoredModel } from '../scored-experiment.js';
import { summarise } from '../summaries.js';
import { benchmarkNotes } from './notes.js';

/**
 * Reverted task experts (§3.3): parts of their changes put back to the base, by rows of small changes or by layers, beside
 * the experts themselves and the base, in every language.
 */
export const reverted = (board: Board): ScoreTable[] => {
  const { models } = board.experiment;
  const variants = new Map<string, ScoredModel[]>();
  for (const model of models)
    if (
      model.method === 'revert' &&
      model.task !== null &&
      model.languageExpert === null &&
      model.variant !== null
    )
      variants.set(model.variant, [...(variants.get(model.variant) ?? []), model]);
  const ofRole = (role: string) => models.filter((model) => model.role === role);
  const groups: readonly (readonly [id: string, label: string, models: readonly ScoredModel[]])[] = [
    ['base', 'base', ofRole('base')],
    ['task', 'task experts', ofRole('task')],
    ...[...variants].map(([variant, of]) => [variant, `reverted: ${variant}`, of] as const),
  ];
  return board.benchmarks.map((benchmark) => {
    const subjects = [...board.experiment.tasks.keys()].flatMap(
      (language) => board.subject(benchmark, language) ?? [],
    );
    const rows = groups.map(
      ([id, label, of]): TableRow => ({
        id,
        label,
        cells: subjects.map((subject) => cellOf(board, subject, of)),
      }),
    );
    const hasAny = rows.slice(2).some(({ cells }) => cells.some((cell) => cell !== null));
    return {
      id: idOf('reverted', benchmark),
      title: `${benchmark}: reverted task experts`,
      caption:
        'Mean over task experts of which a part of the changes is put back to the base (§3.3 of the paper).',
      notes: benchmarkNotes(board, benchmark, { languages: [] }),
      derived: [],
      columns: subjects.map(({ language }) => ({ id: language, label: language, kind: 'number' as const })),
      rows: hasAny ? rows.filter(({ cells }) => cells.some((cell) => cell !== null)) : [],
      refusals: [],
    };
  });
};

const cellOf = (board: Board, subject: Subject, models: readonly ScoredModel[]): Cell | null => {
  const summary = summarise(board.scores(models, subject));
  return summary === undefined ? null : meanCell(summary, summary.estimate, subject.scale);
};
