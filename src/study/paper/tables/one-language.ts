import type { Board, Subject } from '../../scores/boards/board.js';
import {
  type CellKey,
  figure,
  groupOf,
  idOf,
  isMoreBetter,
  markBestIn,
  meanOverLanguages,
  scaleFor,
  statistics,
} from '../../scores/boards/cells.js';
import { groupsOf, labelOf, sortGroups } from '../../scores/boards/groups.js';
import { benchmarkNotes, extremeNote, halfNote, hasIntervals } from '../../scores/layouts/notes.js';
import { allLanguages } from '../../scores/reading/imported.js';
import {
  type Cell,
  type Derived,
  fixed,
  type ScoreTable,
  type TableRow,
  tableOf,
} from '../../scores/reading/score-table.js';

/** The paper's ten languages: MGSM's without Thai. Table 2 averages over "all"; its caption says nine. */
const tenLanguages = [
  'english',
  'german',
  'french',
  'chinese',
  'russian',
  'spanish',
  'japanese',
  'bengali',
  'swahili',
  'telugu',
];

/**
 * Table 2: one language with more references and methods than Table 1, English, and the mean over all
 * languages. Only for languages with such references or methods.
 */
export const oneLanguage = (board: Board): ScoreTable[] =>
  board.benchmarks.flatMap((benchmark) =>
    board.languages.map((language) => ofLanguage(board, benchmark, language)),
  );

const shownInTable1 = ['base', 'language', 'task', 'soup-best', 'swap-default', 'swap-best'];

const notShown = ['soup-default', 'ties-default', 'soup-of-each', 'multilingual'];

const ofLanguage = (board: Board, benchmark: string, language: string): ScoreTable => {
  const subject = board.subject(benchmark, language);
  const computed = subject === undefined ? [] : groupsOf(board, subject).map(({ id }) => id);
  const ids = sortGroups([...computed, ...board.imported.groupsOf(benchmark)]).filter(
    (id) => !notShown.includes(id),
  );
  const isHigherBetter = isMoreBetter(board, benchmark);
  const key = (group: string, of: string): Omit<CellKey, 'statistic'> => ({
    benchmark,
    group,
    subject: language,
    language: of,
  });
  const own = statistics.map((statistic) => ({
    id: statistic,
    label: `${language}, ${statistic}`,
    cells: ids.map((group) => figure(board, { ...key(group, language), statistic })),
  }));
  const all = languagesOfMean(board, benchmark);
  const elsewhere = [
    ...(language === 'english'
      ? []
      : [
          {
            id: 'english',
            label: 'english, avg',
            cells: ids.map((group) => figure(board, { ...key(group, 'english'), statistic: 'avg' })),
          },
        ]),
    {
      id: 'all',
      label: 'all languages, avg',
      cells: ids.map((group) => meanFigure(board, { ...key(group, allLanguages), statistic: 'avg' }, all)),
    },
  ];
  const isMore =
    own.some(({ cells }) =>
      cells.some((cell, at) => cell !== null && !shownInTable1.includes(ids[at] as string)),
    ) ||
    elsewhere.some(({ cells }) =>
      cells.some((cell, at) => cell !== null && !['base', 'task', 'language'].includes(ids[at] as string)),
    );
  const rows = isMore
    ? [...own, ...elsewhere].filter(({ cells }) => cells.some((cell) => cell !== null))
    : [];
  const used = ids.map((_, at) => rows.some(({ cells }) => cells[at] !== null));
  const hasHalf = rows.some(({ cells }) => cells.some((cell) => cell?.otherHalf !== undefined));
  return tableOf({
    id: `${idOf('table-2', benchmark)}/${language}`,
    title: `${benchmark}, ${language}`,
    caption:
      'A language with further references and methods, English and all languages (Table 2 of the paper).',
    notes: [
      ...benchmarkNotes(board, benchmark, { languages: [language] }),
      ...(all.length === 0
        ? []
        : [`All languages: mean of ${all.length} languages: ${all.map((of) => of.language).join(', ')}.`]),
      'English and all languages show the configurations that are best in this language.',
      ...(hasIntervals(rows) ? [extremeNote] : []),
      ...(hasHalf ? [halfNote] : []),
    ],
    derived: isHigherBetter
      ? overJoint(ids, own, language, scaleFor(board, benchmark).unit === 'percent')
      : [],
    columns: ids
      .map((id) => ({ id, label: labelOf(id), kind: 'number' as const }))
      .filter((_, at) => used[at]),
    rows: rows.map(({ cells, ...row }) => ({
      ...row,
      cells: markBestIn(
        board,
        row.id === 'all' ? all : [row.id === 'english' ? board.subject(benchmark, 'english') : subject],
        cells.filter((_, at) => used[at]),
        isHigherBetter,
      ),
    })),
  });
};

/** Returns the subjects of "all languages": the paper's ten if the experiment has them all, else all. */
const languagesOfMean = (board: Board, benchmark: string): Subject[] => {
  const all = [...board.experiment.tasks.keys()].flatMap(
    (language) => board.subject(benchmark, language) ?? [],
  );
  const ten = all.filter(({ language }) => tenLanguages.includes(language.toLowerCase()));
  return ten.length === tenLanguages.length ? ten : all;
};

const meanFigure = (board: Board, key: CellKey, subjects: readonly Subject[]): Cell | null => {
  const group = groupOf(board, key);
  const computed =
    group === undefined || subjects.length < 2
      ? null
      : meanOverLanguages(board, group, subjects, scaleFor(board, key.benchmark));
  return computed ?? figure(board, key);
};

/** Returns the best swap's maximum minus that of joint SFT: the "4.4 points" in §5.2. */
const overJoint = (
  ids: readonly string[],
  rows: readonly TableRow[],
  language: string,
  isPercent: boolean,
): Derived[] => {
  const cells = rows.find(({ id }) => id === 'max')?.cells ?? [];
  const [swap, joint] = ['swap-best', 'joint'].map((id) => cells[ids.indexOf(id)]?.value);
  if (typeof swap !== 'number' || typeof joint !== 'number') return [];
  const label = `maximum of ${labelOf('swap-best')} minus that of ${labelOf('joint')}, ${language}${isPercent ? ', in points' : ''}`;
  return [{ id: 'swap-best-over-joint', label, value: Number(fixed(swap - joint, 6)), digits: 1 }];
};
