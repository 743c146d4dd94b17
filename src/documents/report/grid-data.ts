import { groupBy, itemAt, ownValue } from '../../base/lookup.js';
import { isByCounts } from '../../methods/swap-counts.js';
import { sentenceOf, whyNoBest } from '../../scores/conclusion.js';
import { rowOf } from '../../scores/intervals/rows.js';
import { scoreOf, scoresOf } from '../../scores/model-score.js';
import type { ScoredModel } from '../../scores/scored-experiment.js';
import { summarise } from '../../scores/summaries.js';
import type { PageFinding, PageGrid } from '../pages/data.js';
import type { Comparisons } from './difference.js';
import type { TaskData } from './result-data.js';

const order = ['bottom', 'top', 'bottomTransition', 'topTransition', 'weights'];

/** Parameters that a grid over them is not drawn by: they say the same as others. */
const ignored = ['scaled'];

const shown = (value: unknown): string => {
  if (Array.isArray(value))
    return value.every((one) => one === value[0]) ? 'uniform' : value.map(shown).join(' : ');
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
};

/** No method has as many parameters; a record from elsewhere may have any number. */
const mostAxes = 16;

/** Returns the axes of a set of configurations: the parameters that differ between them; none where they are too many. */
const axesOf = (models: readonly ScoredModel[]): PageGrid['axes'] => {
  const found = new Map<string, { models: number; readonly values: Set<string> }>();
  for (const { configuration } of models)
    for (const [name, value] of Object.entries(configuration)) {
      const axis = found.get(name) ?? { models: 0, values: new Set() };
      axis.models += 1;
      axis.values.add(shown(value));
      found.set(name, axis);
    }
  for (const axis of found.values()) if (axis.models < models.length) axis.values.add(shown(undefined));
  const axes = [...found].filter(([name, { values }]) => values.size > 1 && !ignored.includes(name));
  if (axes.length > mostAxes) return [];
  const rank = (name: string) => (order.includes(name) ? order.indexOf(name) : order.length);
  return axes
    .map(([name, { values }]) => ({
      name,
      values: [...values].sort((a, b) => a.localeCompare(b, 'en', { numeric: true })),
    }))
    .sort((a, b) => rank(a.name) - rank(b.name));
};

/** Returns the default configuration's variant among some: the paper's 5 and 2 without transitions. */
const isDefault = ({ configuration, method }: ScoredModel): boolean =>
  method === 'layer_swap' &&
  isByCounts(configuration) &&
  configuration['bottom'] === 5 &&
  configuration['top'] === 2 &&
  !configuration['bottomTransition'] &&
  !configuration['topTransition'] &&
  shown(configuration['weights']) === 'uniform';

/** Collects the grids of an entry in a language: the mean of each configuration over its pairs. */
const gridOf = (
  models: readonly ScoredModel[],
  { page }: TaskData,
  task: number,
  usualModels: readonly ScoredModel[],
  comparisons: Comparisons,
): PageGrid | undefined => {
  const { metric, name } = page;
  if (metric === null) return undefined;
  const scored = models.filter((model) => scoreOf(model, name, metric) !== undefined);
  const axes = axesOf(scored);
  const [first] = scored;
  if (first === undefined || axes.length === 0) return undefined;
  const byVariant = groupBy(scored, ({ variant }) => variant ?? '');
  const resultsOf = (some: readonly ScoredModel[]) => some.flatMap(({ results }) => results.get(name) ?? []);
  const cells = [...byVariant].flatMap(([variant, some]) => {
    const summary = summarise(scoresOf(some, name, metric));
    const { configuration } = itemAt(some, 0);
    return summary === undefined
      ? []
      : {
          at: axes.map(({ name: parameter, values }) =>
            values.indexOf(shown(ownValue(configuration, parameter))),
          ),
          variant,
          value: summary.avg,
          stderr: summary.estimate?.stderr ?? null,
          pairs: summary.n,
        };
  });
  const undecided =
    whyNoBest({
      metric,
      n: Math.min(...scoresOf(scored, name, metric).map(({ n }) => n)),
      scores: cells.map(({ value }) => value),
    }) ?? null;
  const better = (a: number, b: number) => (page.higherIsBetter ? a > b : a < b);
  const best =
    undecided === null
      ? cells.reduce((top, cell, index) => (better(cell.value, itemAt(cells, top).value) ? index : top), 0)
      : null;
  const inGrid = cells.findIndex(({ variant }) => (byVariant.get(variant) ?? []).some(isDefault));
  const usual = inGrid === -1 ? null : inGrid;
  const rivals = usual === null ? usualModels : (byVariant.get(itemAt(cells, usual).variant) ?? []);
  const findingOf = (of: readonly ScoredModel[]): PageFinding | null => {
    const conclusion = comparisons.conclusion(
      rowOf(of, name, [...byVariant.values()]),
      rowOf(rivals, name),
      metric,
      { first: cells.length },
    );
    return conclusion === null
      ? null
      : { verdict: conclusion.verdict, sentence: sentenceOf(conclusion, 'It', 'the default') };
  };
  return {
    entry: first.entry ?? '',
    language: first.language ?? '',
    task,
    axes,
    cells,
    best,
    undecided,
    usual,
    otherHalf: best === null ? null : comparisons.otherHalf([...byVariant.values()].map(resultsOf), metric),
    finding: best === null ? null : findingOf(byVariant.get(itemAt(cells, best).variant) ?? []),
  };
};

/** Collects every grid: an entry of several configurations, in a language. */
export const gridsOf = (
  models: readonly ScoredModel[],
  languages: readonly string[],
  tasks: readonly TaskData[],
  comparisons: Comparisons,
): PageGrid[] => {
  const merges = models.filter(({ role }) => role === 'merge');
  const entries = [...new Set(merges.map(({ entry }) => entry))];
  return entries.flatMap((entry) =>
    languages.flatMap((language) => {
      const task = tasks.findIndex(({ page }) => page.languages.includes(language));
      const data = tasks[task];
      const some = merges.filter((model) => model.entry === entry && model.language === language);
      if (data === undefined || new Set(some.map(({ variant }) => variant)).size < 2) return [];
      const usual = merges.filter((model) => model.language === language && isDefault(model));
      return gridOf(some, data, task, usual, comparisons) ?? [];
    }),
  );
};
