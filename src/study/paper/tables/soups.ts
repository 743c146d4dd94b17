import type { Board } from '../../scores/boards/board.js';
import { figure, idOf, isMoreBetter, markBestIn } from '../../scores/boards/cells.js';
import { benchmarkNotes } from '../../scores/layouts/notes.js';
import { type ScoreTable, tableOf } from '../../scores/reading/score-table.js';

const columns = [
  { id: 'soup-best', label: 'soup of pairs, best (mean)', kind: 'number' },
  { id: 'swap-default', label: 'swap of pairs, default (mean)', kind: 'number' },
  { id: 'soup-of-each', label: 'language soup × task soup (one model)', kind: 'number' },
  { id: 'multilingual', label: 'multilingual soup × task soup (one model)', kind: 'number' },
] as const;

/** Table 6: merges of pairs against merges of soups, one model per language or one for all. */
export const soups = (board: Board): ScoreTable[] =>
  board.benchmarks.map((benchmark) => {
    const rows = board.languages.map((language) => ({
      id: language,
      label: language,
      cells: markBestIn(
        board,
        [board.subject(benchmark, language)],
        columns.map(({ id }) =>
          figure(board, { benchmark, group: id, subject: language, language, statistic: 'avg' }),
        ),
        isMoreBetter(board, benchmark),
      ),
    }));
    // Without soups of experts, the table is omitted, because Table 1 has the pairs.
    const hasSoups = rows.some(({ cells }) => cells.slice(2).some((cell) => cell !== null));
    return tableOf({
      id: idOf('table-6', benchmark),
      title: `${benchmark}: soups, and swaps of soups`,
      caption:
        'Merges of pairs (mean over pairs), and swaps of soups (one model each). Table 6 of the paper.',
      notes: [
        ...benchmarkNotes(board, benchmark, { groups: columns.map(({ id }) => id) }),
        'Soup of pairs: the best configuration of each language, as in Table 1. In this column the paper prints figures for its default soup, but they equal those of its best soup in Table 1.',
      ],
      columns,
      rows: hasSoups ? rows.filter(({ cells }) => cells.some((cell) => cell !== null)) : [],
    });
  });
