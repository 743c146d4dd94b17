import type { ScoredModel } from '../scores/scored-experiment.js';
import { differenceOf } from './difference.js';
import type { PageTable } from './pages/data.js';
import { scoreOf, type TaskData } from './result-data.js';

/**
 * Lists merges that are worse than the base in a task, by more than noise: the paired 95 % interval excludes
 * 0. Null where nothing could be compared.
 */
export const regressionsOf = (
  models: readonly ScoredModel[],
  tasks: readonly TaskData[],
): PageTable | null => {
  const base = models.find(({ role }) => role === 'base');
  let compared = 0;
  const rows = models.flatMap((model) => {
    if (model.role !== 'merge' || base === undefined) return [];
    return tasks.flatMap(({ page }) => {
      const { name, metric, unit, higherIsBetter } = page;
      const [result, rival] = [model.results.get(name), base.results.get(name)];
      if (metric === null || result === undefined || rival === undefined) return [];
      const difference = differenceOf([result], [rival], metric);
      if (difference === null) return [];
      compared += 1;
      const { mean, stderr, interval, n } = difference;
      if (higherIsBetter ? interval[1] >= 0 : interval[0] <= 0) return [];
      const scale = unit === 'percent' ? 100 : 1;
      const digits = unit === 'percent' ? 1 : 3;
      const score = (value: number | null) => (value === null ? null : { value: scale * value, digits });
      return [
        {
          id: `${model.name} ${name}`,
          label: model.name,
          cells: [
            { value: name, digits: 0 },
            score(scoreOf(result, metric).value),
            score(scoreOf(rival, metric).value),
            {
              value: scale * mean,
              digits,
              n,
              stderr: scale * stderr,
              interval: [scale * interval[0], scale * interval[1]] as const,
            },
          ],
        },
      ];
    });
  });
  return compared === 0
    ? null
    : {
        id: 'regressions',
        title: 'Regressions against the base',
        caption: `${rows.length} of ${compared} comparisons of a merge with the base are worse beyond noise: the 95 % interval of the difference by problem excludes 0.`,
        notes: ['Intervals are of single comparisons; of many, one in forty falls below 0 by chance.'],
        columns: [
          { id: 'task', label: 'Task' },
          { id: 'merge', label: 'Merge' },
          { id: 'base', label: 'Base' },
          { id: 'difference', label: 'Difference' },
        ],
        rows,
      };
};
