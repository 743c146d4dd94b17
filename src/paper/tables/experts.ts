import { taskOf } from '../../evaluation/task-facts.js';
import type { Board, Subject } from '../../scores/board.js';
import { figure, markBestIn, meanCell, meanOverLanguages, scaleFor } from '../../scores/cells.js';
import { allLanguages } from '../../scores/imported.js';
import type { Scale } from '../../scores/metrics.js';
import type { Cell, ScoreTable, TableRow } from '../../scores/score-table.js';
import { summarise } from '../../scores/summaries.js';

/** Shares have three digits in Table 5, as the paper prints them. */
const shown = (scale: Scale): Scale =>
  scale.unit === 'percent' ? { unit: 'percent', factor: 1, digits: 3 } : scale;

interface Column {
  readonly id: string;
  readonly label: string;
  readonly group: 'base' | 'task' | 'language';
  /** The language that the experts are of. */
  readonly language: string | undefined;
}

/** Table 5: the mean score of every kind of expert in every benchmark and language; empty where it was not run. */
export const experts = (board: Board): ScoreTable[] => {
  const columns: Column[] = [
    { id: 'base', label: 'base', group: 'base', language: undefined },
    { id: 'task', label: 'task experts', group: 'task', language: undefined },
    ...board.languages
      .filter((language) => isExpertOf(board, language))
      .map((language) => ({
        id: language,
        label: `${language} experts`,
        group: 'language' as const,
        language,
      })),
  ];
  const rows = board.benchmarks.flatMap((benchmark) => [
    ...subjectRows(board, benchmark, columns),
    ...meanRow(board, benchmark, columns),
  ]);
  return [
    {
      id: 'table-5',
      title: 'Experts by benchmark',
      caption:
        'Mean over experts: shares of problems, and BLEU; empty cells were not run (Table 5 of the paper).',
      notes: [],
      derived: [],
      columns: columns.map(({ id, label }) => ({ id, label, kind: 'number' as const })),
      rows: rows.filter(({ cells }) => cells.some((cell) => cell !== null)),
      refusals: [],
    },
  ];
};

const isExpertOf = (board: Board, language: string): boolean =>
  board.experiment.models.some(
    ({ role, languages }) => role === 'language' && languages.includes(language),
  ) ||
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

/** Returns the language, or the direction of a translation: `eng-jpn`. */
const nameOf = ({ task, language }: Subject): string => {
  const { from, to } = /_(?<from>[a-z]{3})_(?<to>[a-z]{3})$/.exec(task)?.groups ?? {};
  return taskOf(task)?.direction && from !== undefined ? `${from}-${to}` : language;
};

const subjectRows = (board: Board, benchmark: string, columns: readonly Column[]): TableRow[] => {
  const subjects = board.subjects.filter((of) => of.benchmark === benchmark);
  const scale = shown(scaleFor(board, benchmark));
  const computed = subjects.map((subject): TableRow => {
    const isOnly = subjects.filter((of) => nameOf(of) === nameOf(subject)).length === 1;
    const name = isOnly ? nameOf(subject) : subject.task;
    const cells = columns.map((column) => expertCell(board, subject, column, scale));
    return rowOf(board, benchmark, name, cells, [subject]);
  });
  const imported = board.imported
    .testedIn(benchmark)
    .filter((language) => language !== allLanguages && !subjects.some((of) => nameOf(of) === language))
    .map((language) =>
      rowOf(
        board,
        benchmark,
        language,
        columns.map((column) => importedCell(board, benchmark, language, column, scale)),
        [],
      ),
    );
  return [...computed, ...imported];
};

const rowOf = (
  board: Board,
  benchmark: string,
  name: string,
  cells: readonly (Cell | null)[],
  subjects: readonly Subject[],
): TableRow => ({
  id: `${benchmark}/${name}`,
  label: `${benchmark}, ${name}`,
  cells: markBestIn(
    board,
    subjects,
    cells,
    !board.subjects.some((of) => of.benchmark === benchmark && of.scale.unit === 'perplexity'),
  ),
});

const expertsOf = (board: Board, column: Column) =>
  board.experiment.models.filter(
    ({ role, languages }) =>
      role === column.group && (column.language === undefined || languages.includes(column.language)),
  );

const expertCell = (board: Board, subject: Subject, column: Column, scale: Scale): Cell | null => {
  const summary = summarise(board.scores(expertsOf(board, column), subject));
  if (summary === undefined) return importedCell(board, subject.benchmark, nameOf(subject), column, scale);
  return meanCell(summary, summary.estimate, scale);
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
    const models = expertsOf(board, column);
    const computed =
      subjects.length < 2 || models.length === 0
        ? null
        : meanOverLanguages(board, { id: column.id, label: column.label, models }, subjects, scale);
    return computed ?? importedCell(board, benchmark, allLanguages, column, scale);
  });
  return [rowOf(board, benchmark, allLanguages, cells, subjects)];
};
