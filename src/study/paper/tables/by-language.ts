import type { Board } from '../../scores/boards/board.js';
import { figure, idOf, isMoreBetter, markBestIn, statistics } from '../../scores/boards/cells.js';
import { labelOf } from '../../scores/boards/groups.js';
import { benchmarkNotes, extremeNote, halfNote, hasIntervals } from '../../scores/layouts/notes.js';
import {
  type Cell,
  type Derived,
  type ScoreTable,
  type TableRow,
  tableOf,
} from '../../scores/reading/score-table.js';
import { meanOf } from '../../scores/statistics/mean.js';

const groups = ['base', 'language', 'task', 'soup-best', 'swap-default', 'swap-best'];

/** Table 1: min, mean and max over pairs of experts, by language. */
export const byLanguage = (board: Board): ScoreTable[] =>
  board.benchmarks.map((benchmark) => {
    const key = (language: string, group: string) => ({ benchmark, group, subject: language, language });
    const isHigherBetter = isMoreBetter(board, benchmark);
    const isDecided = (language: string): boolean => {
      const subject = board.subject(benchmark, language);
      return subject === undefined || board.whyNoBest(subject) === undefined;
    };
    const rows = board.languages.flatMap((language) =>
      statistics.map((statistic): TableRow => {
        const cells = groups.map((group) => figure(board, { ...key(language, group), statistic }));
        return {
          id: `${language}/${statistic}`,
          label: `${language}, ${statistic}`,
          cells: markBestIn(board, [board.subject(benchmark, language)], cells, isHigherBetter),
        };
      }),
    );
    // Table 1 of the paper is for MGSM. For other benchmarks the table needs merges: scores of single experts
    // are in Table 5.
    const hasMerges = rows.some(({ cells }) => cells.slice(3).some((cell) => cell !== null));
    const shown =
      benchmark === 'MGSM' || hasMerges
        ? rows.filter(({ cells }) => cells.some((cell) => cell !== null))
        : [];
    const hasHalf = shown.some(({ cells }) => cells.some((cell) => cell?.otherHalf !== undefined));
    return tableOf({
      id: idOf('table-1', benchmark),
      title: `${benchmark} by language`,
      caption:
        'Minimum, mean and maximum over pairs of experts, over experts, and of the base (Table 1 of the paper).',
      notes: [
        ...benchmarkNotes(board, benchmark, { groups }),
        'Best: the configuration that has the best mean over the pairs of a language.',
        ...(hasIntervals(shown) ? [extremeNote] : []),
        ...(hasHalf ? [halfNote] : []),
      ],
      derived: isHigherBetter
        ? ratios(rows.filter(({ id }) => isDecided(id.split('/', 1)[0] as string)))
        : [],
      columns: groups.map((id) => ({ id, label: labelOf(id), kind: 'number' as const })),
      rows: shown,
    });
  });

/**
 * Returns the ratios that may give the "10 %" in the paper's introduction. The formula is ours: swap ÷
 * mean(language expert, task expert, soup), averaged over languages.
 */
const ratios = (rows: readonly TableRow[]): Derived[] =>
  ['swap-best', 'swap-default'].flatMap((group): Derived[] => {
    const values = rows
      .filter(({ id }) => id.endsWith('/avg'))
      .flatMap(({ cells }) => {
        const of = (id: string) => numberOf(cells[groups.indexOf(id)]);
        const [swap, ...others] = [of(group), of('language'), of('task'), of('soup-best')];
        if (swap === undefined || others.includes(undefined)) return [];
        const rivals = meanOf(others as number[]);
        // Skips ratios with 0 as divisor.
        return rivals > 0 ? [swap / rivals] : [];
      });
    if (values.length === 0) return [];
    return [
      {
        id: `${group}-ratio`,
        label: `${labelOf(group)} ÷ mean(language experts, task experts, soup), averaged over ${values.length} ${values.length === 1 ? 'language' : 'languages'}`,
        value: meanOf(values),
        digits: 3,
      },
    ];
  });

const numberOf = (cell: Cell | null | undefined): number | undefined =>
  cell === null || cell === undefined || typeof cell.value === 'string' ? undefined : cell.value;
