import { groupBy, itemAt } from '../../../core/base/errors/lookup.js';
import type { Board, Subject } from '../boards/board.js';
import { idOf, numberCell, textCell } from '../boards/cells.js';
import { compete, configurationsOf, isPair, swapSetting } from '../reading/configurations.js';
import { type Cell, type ScoreTable, type TableRow, tableOf } from '../reading/score-table.js';
import type { ScoredModel } from '../reading/scored-experiment.js';
import { meanOf } from '../statistics/mean.js';
import { benchmarkNotes } from './notes.js';

/**
 * Tabulates §4.2's patterns: the best (bottom, top) by language and task expert. The paper finds that
 * languages with low scores need more language layers, and the best math expert fewer.
 */
export const patterns = (board: Board): ScoreTable[] =>
  board.benchmarks.map((benchmark) => {
    const subjects = board.languages.flatMap((language) => board.subject(benchmark, language) ?? []);
    const rows = subjects.flatMap((subject) => {
      const models = board.experiment.models.filter(
        (model) => isPair(model) && model.language === subject.language && swapSetting(model) !== undefined,
      );
      const tasks = [...new Set(models.flatMap(({ task }) => task ?? []))];
      return [
        ...rowOf(board, subject, undefined, models),
        ...tasks.flatMap((task) =>
          rowOf(
            board,
            subject,
            task,
            models.filter((model) => model.task === task),
          ),
        ),
      ];
    });
    return tableOf({
      id: idOf('patterns', benchmark),
      title: `${benchmark}: the best numbers of swapped layers`,
      caption: 'Best (bottom, top) layers per language and per task expert (§4.2 of the paper).',
      notes: [
        ...benchmarkNotes(board, benchmark, { languages: [] }),
        'Best (bottom, top): the numbers with the best mean over all layer swaps that have them. Best configuration: the single one with the best mean. Ties go to the fewest layers.',
        'They are chosen and scored on the same problems.',
      ],
      columns: [
        { id: 'layers', label: 'best (bottom, top)', kind: 'text' },
        { id: 'layers-score', label: 'mean', kind: 'number' },
        { id: 'spread', label: 'above the worst', kind: 'number' },
        { id: 'configuration', label: 'best configuration', kind: 'text' },
        { id: 'configuration-score', label: 'mean', kind: 'number' },
      ],
      rows,
    });
  });

const rowOf = (
  board: Board,
  subject: Subject,
  task: string | undefined,
  models: readonly ScoredModel[],
): TableRow[] => {
  const configurations = configurationsOf(models, subject.language);
  const scores = board.scores(
    configurations.flatMap((of) => of.models),
    subject,
  );
  const ofSwaps = scores.flatMap(({ model, value }) => {
    const setting = swapSetting(model);
    return setting === undefined ? [] : { bottom: setting.bottom, top: setting.top, value };
  });
  const byLayers = groupBy(ofSwaps, ({ bottom, top }) => `(${bottom}, ${top})`);
  const competition = compete(configurations, new Map(scores.map((score) => [score.model.name, score])));
  // Needs at least two settings, and problems that decide between them.
  if (byLayers.size < 2 || competition === undefined || board.whyNoBest(subject) !== undefined) return [];
  const sign = itemAt(scores, 0).isHigherBetter ? 1 : -1;
  const means = [...byLayers]
    .map(([layers, of]) => ({
      ...{ layers, n: of.length, first: itemAt(of, 0) },
      // Means that agree to 12 digits are tied; the setting with the fewest layers then comes first.
      mean: Number(meanOf(of.map(({ value }) => value)).toPrecision(12)),
    }))
    .sort((a, b) => sign * (b.mean - a.mean) || a.first.bottom - b.first.bottom || a.first.top - b.first.top);
  const { factor, digits } = subject.scale;
  const [best, worst] = [itemAt(means, 0), itemAt(means, means.length - 1)];
  const chosen = competition.best.models.map(({ name }) => name);
  const own = meanOf(scores.filter(({ model }) => chosen.includes(model.name)).map(({ value }) => value));
  const cells: Cell[] = [
    textCell(best.layers),
    numberCell(best.mean * factor, digits, { n: best.n }),
    numberCell(Math.abs(best.mean - worst.mean) * factor, digits),
    textCell(competition.best.variant),
    numberCell(own * factor, digits, { n: chosen.length, configuration: competition.best.variant }),
  ];
  return [
    {
      id: task === undefined ? subject.language : `${subject.language}/${task}`,
      label: task === undefined ? subject.language : `${subject.language}, ${task}`,
      cells,
    },
  ];
};
