import type { Board } from '../board.js';
import { extremeCell, idOf, isMoreBetter, meanCell } from '../cells.js';
import { isPair, type SwapSetting, swapSetting } from '../configurations.js';
import type { ScoreTable, TableColumn, TableRow } from '../score-table.js';
import { summarise } from '../summaries.js';
import { benchmarkNotes, extremeNote, hasIntervals } from './notes.js';

/** A row of an ablation: layer swaps of one setting, all else plain. */
type Setting = Omit<SwapSetting, 'isPlain'>;

/** The plan's pairs of bottom and top layers, at no transition and at one layer on either side. */
const layers: readonly Setting[] = [0, 1].flatMap((transition) =>
  [
    [0, 0],
    [3, 1],
    [5, 2],
    [8, 4],
  ].map(([bottom = 0, top = 0]) => ({
    bottom,
    top,
    bottomTransition: transition,
    topTransition: transition,
  })),
);

const transitions = layers.filter(({ bottom }) => bottom === 5);

/** The ablation plan's first: (bottom, top) replaced by each of (0, 0), (3, 1), (5, 2), (8, 4). */
export const ablationLayers = (board: Board): ScoreTable[] =>
  ablation(board, {
    layout: 'ablation-layers',
    title: 'layers from the language expert',
    caption:
      'Mean and maximum over the pairs, by (bottom, top) layers of the language expert (ablation plan, 1).',
    settings: layers,
  });

/** The ablation plan's second: a transition of one layer on either side against none. */
export const ablationTransition = (board: Board): ScoreTable[] =>
  ablation(board, {
    layout: 'ablation-transition',
    title: 'transition zone',
    caption: 'Mean and maximum over the pairs, with 1/1 transition layers and without (ablation plan, 2).',
    settings: transitions,
  });

interface Ablation {
  readonly layout: string;
  readonly title: string;
  readonly caption: string;
  readonly settings: readonly Setting[];
}

const statistics = ['avg', 'max'] as const;

const ablation = (board: Board, { layout, title, caption, settings }: Ablation): ScoreTable[] =>
  board.benchmarks.map((benchmark) => {
    const subjects = board.languages.flatMap((language) => board.subject(benchmark, language) ?? []);
    const columns = subjects.flatMap(({ language }) =>
      statistics.map(
        (statistic): TableColumn => ({
          id: `${language}/${statistic}`,
          label: `${language}, ${statistic}`,
          kind: 'number',
        }),
      ),
    );
    const rows = settings.map(
      (setting): TableRow => ({
        id: `b${setting.bottom}-u${setting.top}-tb${setting.bottomTransition}-tu${setting.topTransition}`,
        label: `(${setting.bottom}, ${setting.top}), transition ${setting.bottomTransition}/${setting.topTransition}`,
        cells: subjects.flatMap((subject) => {
          const scores = board.scores(mergesAt(board, subject.language, setting), subject);
          const summary = summarise(scores);
          if (summary === undefined) return statistics.map(() => null);
          return [
            meanCell(summary, summary.estimate, subject.scale),
            extremeCell(board, scores, isMoreBetter(board, benchmark) ? 'max' : 'min', subject.scale),
          ];
        }),
      }),
    );
    const shown = rows.filter(({ cells }) => cells.some((cell) => cell !== null));
    return {
      id: idOf(layout, benchmark),
      title: `${benchmark}: ${title}`,
      caption,
      notes: [
        ...benchmarkNotes(board, benchmark, { languages: [] }),
        'Layer swaps of pairs with uniform weights, all else at its default.',
        ...(hasIntervals(shown) ? [extremeNote] : []),
      ],
      derived: [],
      columns,
      // One row says nothing of a choice.
      rows: shown.length > 1 ? shown : [],
      refusals: [],
    };
  });

/** Returns the merges of a setting, one for each pair: entries of an experiment may repeat a configuration. */
const mergesAt = (board: Board, language: string, setting: Setting) => {
  const byPair = new Map<string, (typeof board.experiment.models)[number]>();
  for (const model of board.experiment.models) {
    const own = swapSetting(model);
    if (!isPair(model) || model.language !== language || own?.isPlain !== true) continue;
    const isSame = (Object.keys(setting) as (keyof Setting)[]).every((key) => own[key] === setting[key]);
    const pair = `${model.task}+${model.languageExpert}`;
    const former = byPair.get(pair);
    if (isSame && (former === undefined || former.results.size === 0)) byPair.set(pair, model);
  }
  return [...byPair.values()];
};
