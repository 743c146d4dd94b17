import { itemAt } from '../lookup.js';
import { scaleOf } from '../scores/metrics.js';
import { holm } from '../scores/paired.js';
import type { ScoredModel } from '../scores/scored-experiment.js';
import { scoreOf } from '../scores/summaries.js';
import type { Comparisons } from './difference.js';
import type { PageTable } from './pages/data.js';
import type { TaskData } from './result-data.js';

/** Resamples of each comparison: an experiment has many hundreds of them. */
const resamples = 1000;

interface Compared {
  readonly model: ScoredModel;
  readonly task: string;
  readonly metric: string;
  readonly base: number;
  readonly score: number;
  readonly difference: number;
  readonly interval: readonly [number, number];
  readonly p: number | undefined;
  readonly n: number;
  readonly isWorse: boolean;
}

/**
 * Lists merges that are worse than the base in a task, by more than noise: the paired 95 % interval excludes
 * 0. P-values are corrected for all comparisons made (Holm). Null where nothing could be compared.
 */
export const regressionsOf = (
  models: readonly ScoredModel[],
  tasks: readonly TaskData[],
  comparisons: Comparisons,
): PageTable | null => {
  const base = models.find(({ role }) => role === 'base');
  const merges = models.filter(({ role }) => role === 'merge');
  const all = base === undefined ? [] : merges.flatMap((model) => compared(model, base, tasks, comparisons));
  if (all.length === 0) return null;
  const adjusted = holm(all.map(({ p }) => p));
  const rows = all.flatMap((one, index) => {
    if (!one.isWorse) return [];
    const { factor, digits } = scaleOf(one.metric);
    const p = itemAt(adjusted, index);
    const [low, high] = one.interval;
    return [
      {
        id: `${one.model.name} ${one.task}`,
        label: one.model.name,
        cells: [
          { value: one.task, digits: 0 },
          { value: factor * one.score, digits },
          { value: factor * one.base, digits },
          {
            value: factor * one.difference,
            digits,
            n: one.n,
            interval: [factor * low, factor * high] as const,
          },
          p === undefined ? null : { value: p, digits: 3 },
        ],
      },
    ];
  });
  return {
    id: 'regressions',
    title: 'Regressions against the base',
    caption: `${rows.length} of ${all.length} comparisons of a merge with the base are worse beyond noise: the 95 % interval of the difference by problem excludes 0.`,
    notes: [
      'Intervals are of single comparisons: of many between equals, one in forty is below 0 by chance. P-values are corrected for all comparisons (Holm).',
    ],
    columns: [
      { id: 'task', label: 'Task' },
      { id: 'merge', label: 'Merge' },
      { id: 'base', label: 'Base' },
      { id: 'difference', label: 'Difference' },
      { id: 'p', label: 'p, corrected' },
    ],
    rows,
  };
};

const compared = (
  model: ScoredModel,
  base: ScoredModel,
  tasks: readonly TaskData[],
  comparisons: Comparisons,
): Compared[] =>
  tasks.flatMap(({ page: { name: task, metric, higherIsBetter } }) => {
    const [result, rival] = [model.results.get(task), base.results.get(task)];
    if (metric === null || result === undefined || rival === undefined) return [];
    const [score, ofBase] = [scoreOf(model, task, metric), scoreOf(base, task, metric)];
    const comparison = comparisons.compare([result], [rival], metric, { resamples });
    if (comparison === undefined) return [];
    const { difference, interval, p, n } = comparison;
    if (score === undefined || ofBase === undefined || interval === undefined) return [];
    const isWorse = higherIsBetter ? interval[1] < 0 : interval[0] > 0;
    const facts = { model, task, metric, difference, interval, p, n, isWorse };
    return [{ ...facts, score: score.value, base: ofBase.value }];
  });
