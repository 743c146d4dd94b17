import { groupBy } from '../../../core/base/errors/lookup.js';
import { taskOf } from '../../evaluation/data/task-facts.js';
import type { Board, Subject } from '../../scores/boards/board.js';
import { figure, markBestIn, meanCell, meanOverLanguages, scaleFor } from '../../scores/boards/cells.js';
import { summarise } from '../../scores/boards/summaries.js';
import { allLanguages } from '../../scores/reading/imported.js';
import type { Scale } from '../../scores/reading/metrics.js';
import { type Cell, type ScoreTable, type TableRow, tableOf } from '../../scores/reading/score-table.js';
import type { ScoredModel } from '../../scores/reading/scored-experiment.js';

const shown = (scale: Scale): Scale =>
  scale.unit === 'percent' ? { unit: 'percent', factor: 1, digits: 3 } : scale;

interface Column {
  readonly id: string;
  readonly label: string;
  readonly group: 'base' | 'task' | 'language';
  readonly language: string | undefined;
  readonly models: readonly ScoredModel[];
}

/** Table 5: mean score of each kind of expert, by benchmark and language. Cells without a score are empty. */
export const experts = (board: Board): ScoreTable[] => {
  const byRole = groupBy(board.experiment.models, ({ role }) => role);
  const ofLanguages = groupBy(
    (byRole.get('language') ?? []).flatMap((model) =>
      [...new Set(model.languages)].map((language) => ({ language, model })),
    ),
    ({ language }) => language,
  );
  const columns: Column[] = [
    { id: 'base', label: 'base', group: 'base', language: undefined, models: byRole.get('base') ?? [] },
    {
      ...{ id: 'task', label: 'task experts', group: 'task', language: undefined },
      models: byRole.get('task') ?? [],
    },
    ...board.languages
      .filter((language) => ofLanguages.has(language) || isImported(board, language))
      .map((language) => ({
        id: language,
        label: `${language} experts`,
        group: 'language' as const,
        language,
        models: (ofLanguages.get(language) ?? []).map(({ model }) => model),
      })),
  ];
  const rows = board.benchmarks.flatMap((benchmark) => [
    ...subjectRows(board, benchmark, columns),
    ...meanRow(board, benchmark, columns),
  ]);
  return [
    tableOf({
      id: 'table-5',
      title: 'Experts by benchmark',
      caption:
        'Mean over experts: shares of problems, or BLEU. Empty cells were not run (Table 5 of the paper).',
      columns: columns.map(({ id, label }) => ({ id, label, kind: 'number' as const })),
      rows: rows.filter(({ cells }) => cells.some((cell) => cell !== null)),
    }),
  ];
};

const isImported = (board: Board, language: string): boolean =>
  board.benchmarks.some((benchmark) =>
    board.imported.testedIn(benchmark).some(
      (tested) =>
        figure(board, {
          benchmark,
          group: 'language',
          subject: language,
          language: tested,
          statistic: 'avg',
        }) !== null,
    ),
  );

/** Returns the name of a row: the language, or a direction of translation such as `eng-jpn`. */
const nameOf = ({ task, language }: Subject): string => {
  const { from, to } = /_(?<from>[a-z]{3})_(?<to>[a-z]{3})$/.exec(task)?.groups ?? {};
  return taskOf(task)?.direction && from !== undefined ? `${from}-${to}` : language;
};

const subjectRows = (board: Board, benchmark: string, columns: readonly Column[]): TableRow[] => {
  const subjects = board.subjects.filter((of) => of.benchmark === benchmark);
  const scale = shown(scaleFor(board, benchmark));
  const isLess = isLessBetter(board, benchmark);
  const byName = groupBy(subjects, nameOf);
  const computed = subjects.map((subject): TableRow => {
    const cells = columns.map((column) => expertCell(board, subject, column, scale));
    const name = nameOf(subject);
    const isOnly = byName.get(name)?.length === 1;
    return rowOf(board, benchmark, isOnly ? name : subject.task, { cells, subjects: [subject], isLess });
  });
  const imported = board.imported
    .testedIn(benchmark)
    .filter((language) => language !== allLanguages && !byName.has(language))
    .map((language) => {
      const cells = columns.map((column) => importedCell(board, benchmark, language, column, scale));
      return rowOf(board, benchmark, language, { cells, subjects: [], isLess });
    });
  return [...computed, ...imported];
};

const isLessBetter = (board: Board, benchmark: string): boolean =>
  board.subjects.some((of) => of.benchmark === benchmark && of.scale.unit === 'perplexity');

interface RowParts {
  readonly cells: readonly (Cell | null)[];
  readonly subjects: readonly Subject[];
  readonly isLess: boolean;
}

const rowOf = (
  board: Board,
  benchmark: string,
  name: string,
  { cells, subjects, isLess }: RowParts,
): TableRow => ({
  id: `${benchmark}/${name}`,
  label: `${benchmark}, ${name}`,
  cells: markBestIn(board, subjects, cells, !isLess),
});

const expertCell = (board: Board, subject: Subject, column: Column, scale: Scale): Cell | null => {
  const summary = summarise(board.scores(column.models, subject));
  if (summary === undefined) return importedCell(board, subject.benchmark, nameOf(subject), column, scale);
  return meanCell(summary, summary.estimate, scale, board.lack(column.models, subject));
};

const importedCell = (
  board: Board,
  benchmark: string,
  language: string,
  { group, language: subject }: Column,
  scale: Scale,
): Cell | null => {
  const unit = scale.unit === 'BLEU' ? ('BLEU' as const) : ('share' as const);
  const found = board.imported.cell(
    { benchmark, group, subject, language, statistic: 'avg' },
    { factor: scale.factor, digits: scale.digits, unit },
  );
  return found ?? null;
};

const meanRow = (board: Board, benchmark: string, columns: readonly Column[]): TableRow[] => {
  const subjects = [...board.experiment.tasks.keys()].flatMap(
    (language) => board.subject(benchmark, language) ?? [],
  );
  const scale = shown(scaleFor(board, benchmark));
  const cells = columns.map((column): Cell | null => {
    const computed =
      subjects.length < 2 || column.models.length === 0
        ? null
        : meanOverLanguages(board, column, subjects, scale);
    return computed ?? importedCell(board, benchmark, allLanguages, column, scale);
  });
  const isLess = isLessBetter(board, benchmark);
  return [rowOf(board, benchmark, allLanguages, { cells, subjects, isLess })];
};
