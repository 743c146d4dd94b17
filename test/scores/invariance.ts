import type { EvaluationResult, ProblemScore } from '../../src/study/evaluation/result.js';
import { gridsOf } from '../../src/study/pages/report/grid-data.js';
import { headlineOf } from '../../src/study/pages/report/headline.js';
import { regressionsOf } from '../../src/study/pages/report/regressions.js';
import { tasksOf } from '../../src/study/pages/report/result-data.js';
import { StringPool } from '../../src/study/pages/report/string-pool.js';
import { layouts } from '../../src/study/paper/layouts.js';
import { Board } from '../../src/study/scores/boards/board.js';
import type { Cell, ScoreTable } from '../../src/study/scores/reading/score-table.js';
import type { ScoredExperiment, ScoredModel } from '../../src/study/scores/reading/scored-experiment.js';
import { tablesOn } from '../../src/study/scores/tables.js';
import { constructedResult, exactMatch, scoredModel, seeded } from '../fixtures/scored.js';

// Random studies, equivalent versions of them, and all figures that tables and reports make from them.

export interface Study {
  readonly experiment: ScoredExperiment;
  readonly random: () => number;
}

type Random = () => number;

const language = 'swahili';
const tasks = { own: 'mgsm_direct_sw', english: 'mgsm_direct_en', other: 'mgsm_direct_te' } as const;

const pick = <T>(random: Random, items: readonly T[]): T => items[Math.floor(random() * items.length)] as T;

const shuffled = <T>(items: readonly T[], random: Random): T[] => {
  const rest = [...items];
  return items.map(() => rest.splice(Math.floor(random() * rest.length), 1)[0] as T);
};

const metrics = {
  right: { metric: exactMatch, higherIsBetter: true },
  parts: { metric: 'f1,none', higherIsBetter: true },
  likelihood: { metric: 'byte_perplexity,none', higherIsBetter: false },
} as const;

type Kind = keyof typeof metrics;

const scoreOf = (kind: Kind, chance: number, random: Random): ProblemScore => {
  if (kind === 'right') return random() < chance ? 1 : 0;
  if (kind === 'parts')
    return Math.floor(4 * Math.min(1, chance + random() - 0.3)) / 7 > 0
      ? Math.floor(8 * random() * chance) / 7
      : 0;
  return [-Math.floor(30 + 40 * (1 - chance) * random()) / 8, 10 + Math.floor(20 * random())];
};

const resultOf = (
  model: string,
  task: string,
  kind: Kind,
  scores: readonly ProblemScore[],
): EvaluationResult => {
  const sum = (of: (score: ProblemScore) => number) =>
    scores.reduce<number>((all, score) => all + of(score), 0);
  const perplexity = () =>
    Math.exp(
      -sum((score) => (score as readonly number[])[0] ?? 0) /
        sum((score) => (score as readonly number[])[1] ?? 0),
    );
  const value = kind === 'likelihood' ? perplexity() : sum((score) => score as number) / scores.length;
  return constructedResult({ model, task, scores, ...metrics[kind], value });
};

const variants: Readonly<Record<string, Pick<ScoredModel, 'method' | 'configuration'>>> = {
  default: { method: 'layer_swap', configuration: { bottom: 5, top: 2, weights: [1, 1] } },
  'grid/b3-u0': { method: 'layer_swap', configuration: { bottom: 3, top: 0, weights: [1, 1] } },
  'grid/b3-u1': { method: 'layer_swap', configuration: { bottom: 3, top: 1, weights: [1, 1] } },
  'grid/b8-u4': { method: 'layer_swap', configuration: { bottom: 8, top: 4, weights: [1, 1] } },
  'grid/b0-u0': { method: 'layer_swap', configuration: { bottom: 0, top: 0, weights: [1, 1] } },
  'grid/b5-u2-tb1': {
    method: 'layer_swap',
    configuration: { bottom: 5, top: 2, bottomTransition: 1, topTransition: 1, weights: [1, 1] },
  },
  'soup/heavy': { method: 'soup', configuration: { weights: [3, 1] } },
  'soup/even': { method: 'soup', configuration: { weights: [1, 1] } },
  'soup/magnitude': { method: 'soup', configuration: { weights: 'magnitude' } },
  'ties/d0.2': { method: 'ties', configuration: { density: 0.2 } },
  'ties/d0.5': { method: 'ties', configuration: { density: 0.5 } },
  'alpha/l0.5': { method: 'task_arithmetic', configuration: { lambda: 0.5, weights: [1, 1] } },
};

/** Makes a study of few problems with low or high scores, so that equal scores are frequent. */
export const randomStudy = (seed: number): Study => {
  const random = seeded(seed);
  const kind = pick(random, ['right', 'right', 'right', 'right', 'parts', 'likelihood'] as const);
  const problems = pick(random, [30, 36, 50]);
  const level = pick(random, [0.01, 0.03, 0.08, 0.2, 0.5, 0.93, 0.98]);
  const [experts, languages] = [pick(random, [1, 2, 2, 3]), pick(random, [1, 2, 2, 3])];
  const difficulty = Array.from({ length: problems }, random);
  const shared = Array.from({ length: problems }, random);
  const scoresOf = (more: number): ProblemScore[] =>
    difficulty.map((hard, at) => {
      const chance = Math.min(1, Math.max(0, level * (0.4 + 1.2 * hard) + more));
      const luck = random() < 0.6 ? (shared[at] as number) : random();
      return kind === 'right' ? (luck < chance ? 1 : 0) : scoreOf(kind, chance, random);
    });
  const gain = () => 0.3 * level * (random() - 0.5);
  const resultsOf = (model: string, isElsewhere: boolean) => {
    const own = [tasks.own, ...(isElsewhere ? [tasks.english] : [])];
    return Object.fromEntries(own.map((task) => [task, resultOf(model, task, kind, scoresOf(gain()))]));
  };
  const isElsewhere = random() < 0.5;
  const of = (role: string, name: string, more: Partial<ScoredModel> = {}) =>
    scoredModel({ name, role, languages: [language], ...more, results: resultsOf(name, isElsewhere) });
  const names = Object.keys(variants).filter((name) => name === 'default' || random() < 0.55);
  const taskNames = Array.from({ length: experts }, (_, at) => `te-${at}`);
  const languageNames = Array.from({ length: languages }, (_, at) => `le-${at}`);
  const merges = names.flatMap((variant) =>
    taskNames.flatMap((task) =>
      languageNames.map((languageExpert) => {
        const name = `${language}/${task}+${languageExpert}/${variant}`;
        const facts = { language, task, languageExpert, variant, entry: variant.split('/', 1)[0] ?? '' };
        return of('merge', name, { ...facts, ...variants[variant] });
      }),
    ),
  );
  const soups = ['soup-of-each', 'soup-of-each/b1'].slice(0, pick(random, [0, 1, 2])).map((variant, at) =>
    of('merge', `${language}/${variant}`, {
      ...{
        language,
        task: 'soup',
        languageExpert: 'soup',
        method: 'layer_swap',
        variant,
        entry: 'soup-of-each',
      },
      configuration: { bottom: 5 - 4 * at, top: 2, weights: [1, 1] },
    }),
  );
  const reverted = taskNames.flatMap((task) =>
    ['rows/0.8', 'rows/0.9'].slice(0, pick(random, [0, 0, 2])).map((variant) =>
      of('merge', `all/${task}/${variant}`, {
        ...{
          language: 'all',
          task,
          method: 'revert',
          variant,
          entry: 'rows',
          configuration: { target: variant },
        },
      }),
    ),
  );
  return {
    random,
    experiment: {
      directory: null,
      languages: [language],
      tasks: new Map([
        [language, [tasks.own]],
        ...(isElsewhere ? [['english', [tasks.english]] as const] : []),
      ]),
      models: [
        of('base', 'base'),
        ...taskNames.map((name) => of('task', name)),
        ...languageNames.map((name) => of('language', name)),
        ...(random() < 0.4 ? [of('joint', 'joint-1')] : []),
        ...[...merges, ...soups, ...reverted],
      ],
      texts: {},
      summaries: [],
      warnings: [],
    },
  };
};

const withModels = (experiment: ScoredExperiment, models: readonly ScoredModel[]): ScoredExperiment => ({
  ...experiment,
  models,
});

/**
 * Reorders problems in files, and which problem has which scores, alike for all models and translated tasks.
 */
const otherRows = ({ experiment, random }: Study): ScoredExperiment => {
  const [first] = experiment.models.flatMap(({ results }) => [...results.values()]);
  const places = shuffled([...(first?.problems.keys() ?? [])], random);
  return withModels(
    experiment,
    experiment.models.map((model) => ({
      ...model,
      results: new Map(
        [...model.results].map(([task, result]) => {
          const moved = result.problems.map((problem, to) => ({
            ...problem,
            scores: (result.problems[places[to] as number] as EvaluationResult['problems'][number]).scores,
          }));
          return [task, { ...result, problems: shuffled(moved, random) }];
        }),
      ),
    })),
  );
};

const otherOrder = ({ experiment, random }: Study): ScoredExperiment =>
  withModels(experiment, shuffled(experiment.models, random));

/** Exchanges the experts' names, and renames configurations. */
const otherNames = ({ experiment, random }: Study): Told => {
  const digits = shuffled([0, 1, 2], random);
  const codes = new Map(
    Object.keys(variants).map((variant) => [
      variant,
      `${variant.split('/', 1)[0]}/n${Math.floor(1e6 * random())}`,
    ]),
  );
  const back = new Map([...codes].map(([variant, code]) => [code, variant]));
  const expert = (text: string): string =>
    text.replace(/\b([tl]e)-(\d)/g, (_, kind, digit) => `${kind}-${digits[Number(digit)]}`);
  const named = (text: string | null): string | null => {
    if (text === null) return null;
    const found = [...codes.keys()].find((variant) => variant !== 'default' && text.endsWith(variant));
    return expert(found === undefined ? text : text.slice(0, text.length - found.length) + codes.get(found));
  };
  const models = experiment.models.map((model) => ({
    ...model,
    name: named(model.name) as string,
    task: named(model.task),
    languageExpert: named(model.languageExpert),
    variant: named(model.variant),
    results: new Map(
      [...model.results].map(([task, result]) => [task, { ...result, model: named(result.model) as string }]),
    ),
  }));
  const inverse = [0, 1, 2].map((digit) => digits.indexOf(digit));
  return {
    experiment: withModels(experiment, models),
    read: (text) =>
      text
        .replace(/\b([tl]e)-(\d)/g, (_, kind, digit) => `${kind}-${inverse[Number(digit)]}`)
        .replace(/\b\w+\/n\d+\b/g, (code) => back.get(code) ?? code),
  };
};

/** Adds a copy of one configuration at any place, under a name that comes last: the first name is shown. */
const withCopy = ({ experiment, random }: Study): Told => {
  const merges = experiment.models.filter(({ entry }) => entry !== null);
  const { variant, language: of } = pick(random, merges);
  const hasSameWeights = random() < 0.5;
  const copies = experiment.models
    .filter((model) => model.variant === variant && model.language === of)
    .map((model) => ({
      ...model,
      name: model.name.replace(variant ?? '', 'zz-copy/one'),
      variant: 'zz-copy/one',
      entry: 'zz-copy',
      results: hasSameWeights
        ? model.results
        : new Map(
            [...model.results].map(([task, result]) => [
              task,
              { ...result, weights: `copy ${result.weights}` },
            ]),
          ),
    }));
  const models = [...experiment.models];
  for (const copy of copies) models.splice(Math.floor(random() * (models.length + 1)), 0, copy);
  return {
    experiment: withModels(experiment, models),
    read: (text) => text.replaceAll('zz-copy/one', variant ?? ''),
    isMore: (id) => id.includes('zz-copy/one'),
  };
};

/** Adds another language with its own experts and merges; the first language's task also scores some. */
const withLanguage = ({ experiment, random }: Study): Told => {
  const models = experiment.models.map((model) => {
    const result = model.results.get(tasks.own) as EvaluationResult;
    if (model.role !== 'base' && model.role !== 'task') return model;
    return {
      ...model,
      results: new Map([...model.results, [tasks.other, { ...result, task: tasks.other }]]),
    };
  });
  const more = experiment.models
    .filter(({ role, language: of }) => role === 'language' || (role === 'merge' && of === language))
    .filter(() => random() < 0.7)
    .map((model) => {
      const result = model.results.get(tasks.own) as EvaluationResult;
      const name = model.name.replaceAll('le-', 'lx-').replace(language, 'telugu');
      const own = { ...result, model: name, weights: `telugu ${result.weights}` };
      return {
        ...model,
        name,
        language: model.language === null ? null : 'telugu',
        languages: ['telugu'],
        languageExpert: model.languageExpert?.replace('le-', 'lx-') ?? null,
        results: new Map([
          [tasks.other, { ...own, task: tasks.other }],
          ...(model.role === 'merge' && random() < 0.3 ? [[tasks.own, own] as const] : []),
        ]),
      };
    });
  return {
    experiment: {
      ...experiment,
      languages: ['telugu', ...experiment.languages],
      tasks: new Map([['telugu', [tasks.other]], ...experiment.tasks]),
      models: shuffled([...models, ...more], random),
    },
    isMore: (id) => /telugu|lx-|mgsm_direct_te/.test(id),
    isOneLanguage: true,
  };
};

export interface Told {
  readonly experiment: ScoredExperiment;
  readonly read?: (text: string) => string;
  readonly isMore?: (id: string) => boolean;
  /** True to omit figures over all languages, and texts that count them. */
  readonly isOneLanguage?: boolean;
}

export const tellings: Readonly<Record<string, (study: Study) => Told>> = {
  'rows in another order': (study) => ({ experiment: otherRows(study) }),
  'merges, pairs and candidates in another order': (study) => ({ experiment: otherOrder(study) }),
  'other names': otherNames,
  'a configuration twice': withCopy,
  'another language': withLanguage,
};

const overLanguages = /^(mean|all)$|^mean\/|\/mean$|\/all languages$/;

/** All that tables and the report say about an experiment, by names instead of positions. */
export const saidOf = ({
  experiment,
  read = (text) => text,
  isMore = () => false,
  isOneLanguage = false,
}: Told) => {
  const board = new Board(experiment, { resamples: 60, margin: 3 });
  const tables = tablesOn(board, layouts);
  const pages = tasksOf(board, 0, new StringPool());
  const isKept = (id: string): boolean => !isMore(id) && !(isOneLanguage && overLanguages.test(id));
  const cellOf = (cell: Cell | null) => cell && { ...cell, flag: undefined, model: undefined };
  const tableOf = ({ rows, columns, notes, derived }: ScoreTable) => ({
    rows: sorted(
      rows
        .filter(({ id }) => isKept(id))
        .map(({ id, label, cells }) => [
          id,
          {
            label,
            cells: sorted(
              columns.flatMap((column, at) =>
                isKept(column.id) ? [[column.id, cellOf(cells[at] ?? null)]] : [],
              ),
            ),
          },
        ]),
    ),
    ...(isOneLanguage ? {} : { notes: notes.map(read).toSorted(), derived }),
  });
  const grids = gridsOf(board, pages).map(({ axes, cells, best, usual, ...grid }) => {
    const placeOf = (index: number | null) =>
      index === null ? null : axes.map(({ name, values }, at) => [name, values[cells[index]?.at[at] ?? -1]]);
    return [
      `${grid.entry} ${grid.language}`,
      {
        ...grid,
        task: undefined,
        best: placeOf(best),
        usual: placeOf(usual),
        cells: sorted(
          cells.map((cell, at) => [JSON.stringify(placeOf(at)), { value: cell.value, stderr: cell.stderr }]),
        ),
      },
    ];
  });
  const regressions = regressionsOf(board, pages);
  const said = {
    tables: sorted(tables.filter(({ id }) => isKept(id)).map((table) => [table.id, tableOf(table)])),
    grids: sorted(grids.filter(([id]) => isKept(String(id)))),
    regressions: sorted(
      (regressions?.rows ?? []).filter(({ id }) => isKept(id)).map(({ id, cells }) => [id, cells]),
    ),
    ...(isOneLanguage
      ? {}
      : {
          sentence: headlineOf(board, pages).sentence,
          caption: isMore('zz-copy/one') ? undefined : regressions?.caption,
        }),
  };
  return JSON.parse(read(JSON.stringify(said)), (_, value) =>
    value !== null && typeof value === 'object' && !Array.isArray(value)
      ? sorted(Object.entries(value))
      : value,
  );
};

const sorted = (entries: readonly (readonly unknown[])[]): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    entries.map(([key, value]) => [String(key), value] as const).toSorted(([a], [b]) => (a < b ? -1 : 1)),
  );
