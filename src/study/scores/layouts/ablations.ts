import type { Board, Subject } from '../boards/board.js';
import { extremeCell, idOf, isMoreBetter, meanCell, meanOfCells } from '../boards/cells.js';
import { summarise } from '../boards/summaries.js';
import {
  configurationsOf,
  defaultOf,
  isPair,
  type SwapSetting,
  swapSetting,
} from '../reading/configurations.js';
import {
  type Cell,
  type ScoreTable,
  type TableColumn,
  type TableRow,
  tableOf,
} from '../reading/score-table.js';
import type { ScoredModel } from '../reading/scored-experiment.js';
import { type Contrast, differences, type Sides } from './differences.js';
import { benchmarkNotes, extremeNote, hasIntervals } from './notes.js';

type Setting = Omit<SwapSetting, 'isPlain'>;

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

/** First ablation of the ablation plan: numbers of (bottom, top) layers. */
export const ablationLayers = (board: Board): ScoreTable[] =>
  ablation(board, {
    layout: 'ablation-layers',
    title: 'layers from the language expert',
    caption:
      'Mean and maximum over the pairs, by (bottom, top) layers of the language expert (ablation plan, 1).',
    settings: layers,
    compared:
      'Each row minus the paper’s (5, 2) with the same transition; without such a row, minus the default.',
    referencesOf: ({ bottom, bottomTransition }) =>
      bottom === 5
        ? []
        : [
            ...transitions.filter((of) => of.bottomTransition === bottomTransition),
            ...transitions,
            'default',
          ],
  });

/** Second ablation of the ablation plan: one transition layer on either side, compared with none. */
export const ablationTransition = (board: Board): ScoreTable[] =>
  ablation(board, {
    layout: 'ablation-transition',
    title: 'transition zone',
    caption: 'Mean and maximum over the pairs, with 1/1 transition layers and without (ablation plan, 2).',
    settings: transitions,
    compared: 'Without transition layers (0/0) minus with them (1/1).',
    referencesOf: ({ bottomTransition }) =>
      transitions.filter((of) => bottomTransition === 0 && of.bottomTransition > 0),
  });

interface Ablation {
  readonly layout: string;
  readonly title: string;
  readonly caption: string;
  readonly settings: readonly Setting[];
  readonly compared: string;
  /** Returns settings to compare with; the first setting that was merged is used. Empty if the row is a reference. */
  readonly referencesOf: (setting: Setting) => readonly Reference[];
}

type Reference = Setting | 'default';

const statistics = ['avg', 'max'] as const;

const idOfSetting = ({ bottom, top, bottomTransition, topTransition }: Setting): string =>
  `b${bottom}-u${top}-tb${bottomTransition}-tu${topTransition}`;

const labelOfSetting = ({ bottom, top, bottomTransition, topTransition }: Setting): string =>
  `(${bottom}, ${top}), transition ${bottomTransition}/${topTransition}`;

const contrastLabel = (setting: Setting, reference: Reference): string => {
  if (reference === 'default') return `${labelOfSetting(setting)}, minus the default`;
  const layersOf = ({ bottom, top }: Setting) => `(${bottom}, ${top})`;
  const transitionOf = ({ bottomTransition, topTransition }: Setting) =>
    `${bottomTransition}/${topTransition}`;
  if (transitionOf(setting) === transitionOf(reference))
    return `${layersOf(setting)} minus ${layersOf(reference)}, transition ${transitionOf(setting)}`;
  if (layersOf(setting) === layersOf(reference))
    return `${layersOf(setting)}, transition ${transitionOf(setting)} minus ${transitionOf(reference)}`;
  return `${labelOfSetting(setting)}, minus ${labelOfSetting(reference)}`;
};

const ablation = (board: Board, of: Ablation): ScoreTable[] =>
  board.benchmarks.flatMap((benchmark) => {
    const subjects = board.languages.flatMap((language) => board.subject(benchmark, language) ?? []);
    return [scores(board, benchmark, subjects, of), comparedRows(board, benchmark, subjects, of)];
  });

const scores = (
  board: Board,
  benchmark: string,
  subjects: readonly Subject[],
  { layout, title, caption, settings }: Ablation,
): ScoreTable => {
  const places = [...subjects.map(({ language }) => language), ...(subjects.length > 1 ? ['mean'] : [])];
  const rows = settings.map((setting): TableRow => {
    const own = subjects.map((subject): readonly (Cell | null)[] => {
      const scored = board.scores(mergesAt(board, subject.language, setting), subject);
      const summary = summarise(scored);
      if (summary === undefined) return statistics.map(() => null);
      return [
        meanCell(summary, summary.estimate, subject.scale),
        extremeCell(board, scored, isMoreBetter(board, benchmark) ? 'max' : 'min', subject.scale),
      ];
    });
    const means = statistics.map((_, at) => meanOfCells(own.map((cells) => cells[at] ?? null)));
    return {
      id: idOfSetting(setting),
      label: labelOfSetting(setting),
      cells: [...own.flat(), ...(subjects.length > 1 ? means : [])],
    };
  });
  const shown = rows.filter(({ cells }) => cells.some((cell) => cell !== null));
  return tableOf({
    id: idOf(layout, benchmark),
    title: `${benchmark}: ${title}`,
    caption,
    notes: [
      ...benchmarkNotes(board, benchmark, { languages: [] }),
      'Layer swaps of pairs with uniform weights; all other parameters have their defaults.',
      ...(hasIntervals(shown) ? [extremeNote] : []),
    ],
    columns: places.flatMap((place) =>
      statistics.map(
        (statistic): TableColumn => ({
          id: `${place}/${statistic}`,
          label: `${place}, ${statistic}`,
          kind: 'number',
        }),
      ),
    ),
    rows: shown.length > 1 ? shown : [],
  });
};

const comparedRows = (
  board: Board,
  benchmark: string,
  subjects: readonly Subject[],
  { layout, title, settings, compared, referencesOf }: Ablation,
): ScoreTable =>
  differences(board, {
    of: idOf(layout, benchmark),
    title: `${benchmark}: ${title}, differences`,
    caption: `${compared} Mean over the pairs, on the same problems, with 95 % interval and two-sided p.`,
    subjects,
    contrasts: settings.flatMap((setting): Contrast[] => {
      const reference = referencesOf(setting).find((of) =>
        subjects.some(({ language }) => modelsOf(board, language, of).length > 0),
      );
      if (reference === undefined) return [];
      return [
        {
          id: idOfSetting(setting),
          label: contrastLabel(setting, reference),
          sides: ({ language, task }) =>
            ofSamePairs(mergesAt(board, language, setting), modelsOf(board, language, reference), task),
        },
      ];
    }),
  });

const modelsOf = (board: Board, language: string, reference: Reference): readonly ScoredModel[] => {
  if (reference !== 'default') return mergesAt(board, language, reference);
  return defaultOf(configurationsOf(board.experiment.models, language), 'layer_swap')?.models ?? [];
};

const pairOf = ({ task, languageExpert }: ScoredModel): string => `${task}+${languageExpert}`;

/** Restricts both sides to pairs with scores on both sides; undefined if both sides are the same merges. */
export const ofSamePairs = (
  a: readonly ScoredModel[],
  b: readonly ScoredModel[],
  task: string,
): Sides | undefined => {
  if (a.every((model) => b.includes(model))) return undefined;
  const scoredIn = (models: readonly ScoredModel[]) => models.filter(({ results }) => results.has(task));
  const both = (models: readonly ScoredModel[], others: readonly ScoredModel[]) => {
    const pairs = new Set(scoredIn(others).map(pairOf));
    return scoredIn(models).filter((model) => pairs.has(pairOf(model)));
  };
  return [both(a, b), both(b, a)];
};

/** Returns a setting's merges, one per pair: entries may repeat a configuration. */
const mergesAt = (board: Board, language: string, setting: Setting): ScoredModel[] => {
  const byPair = new Map<string, ScoredModel>();
  for (const model of board.experiment.models) {
    const own = swapSetting(model);
    if (!isPair(model) || model.language !== language || own?.isPlain !== true) continue;
    const isSame = (Object.keys(setting) as (keyof Setting)[]).every((key) => own[key] === setting[key]);
    const pair = pairOf(model);
    const former = byPair.get(pair);
    if (isSame && (former === undefined || former.results.size === 0)) byPair.set(pair, model);
  }
  return [...byPair.values()];
};
