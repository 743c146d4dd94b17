import { conclude, type Verdict } from '../../scores/conclusion.js';
import { scaleOf } from '../../scores/metrics.js';
import { holm, type PairedComparison } from '../../scores/paired.js';
import type { ScoredModel } from '../../scores/scored-experiment.js';
import type { PageTable } from '../pages/data.js';
import type { Comparisons } from './difference.js';
import type { TaskData } from './result-data.js';

/** A merge against the base in a task. */
interface Compared {
  readonly model: ScoredModel;
  readonly task: string;
  readonly metric: string;
  readonly comparison: PairedComparison;
}

/**
 * Lists merges that look worse than the base in a task: the paired 95 % interval is on the worse side, which is chance in
 * one of forty equals. Those are called worse whose p-value says so after Holm's correction for all comparisons made.
 * Null where nothing could be compared.
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
  const adjusted = holm(all.map(({ comparison }) => comparison.p));
  const concluded = all.map((one, index) => {
    const facts = { metric: one.metric, ...one.comparison };
    return {
      ...one,
      adjusted: adjusted[index],
      own: conclude(facts).verdict,
      verdict: conclude({ ...facts, p: adjusted[index] }).verdict,
    };
  });
  const listed = concluded.filter(({ own }) => own === 'worse');
  const unsaid = concluded.filter(({ own }) => own === 'too few problems').length;
  const worse = listed.filter(({ verdict }) => verdict === 'worse').length;
  return {
    id: 'regressions',
    title: 'Regressions against the base',
    caption:
      `${worse} of ${all.length} comparisons of a merge with the base are worse beyond noise, corrected for their number; ` +
      `${listed.length - worse} more by their own test alone, which of equals one in forty is by chance.` +
      (unsaid === 0 ? '' : ` ${unsaid} have too few problems to say.`),
    notes: [
      'Listed: the 95 % interval of the difference by problem is on the worse side, and p is below 5 %. Worse: p is below 5 % also when corrected for all comparisons (Holm).',
    ],
    columns: [
      { id: 'task', label: 'Task' },
      { id: 'merge', label: 'Merge' },
      { id: 'base', label: 'Base' },
      { id: 'difference', label: 'Difference' },
      { id: 'p', label: 'p, corrected' },
      { id: 'verdict', label: 'Verdict' },
    ],
    rows: listed.map(rowOf),
  };
};

const rowOf = ({
  model,
  task,
  metric,
  comparison,
  adjusted,
  verdict,
}: Compared & { readonly adjusted: number | undefined; readonly verdict: Verdict }) => {
  const { factor, digits } = scaleOf(metric);
  const { scores, difference, interval, n } = comparison;
  return {
    id: `${model.name} ${task}`,
    label: model.name,
    cells: [
      { value: task, digits: 0 },
      { value: factor * scores[0], digits },
      { value: factor * scores[1], digits },
      {
        value: factor * difference,
        digits,
        n,
        ...(interval === undefined
          ? {}
          : { interval: [factor * interval[0], factor * interval[1]] as const }),
      },
      adjusted === undefined ? null : { value: adjusted, digits: 3 },
      { value: verdict === 'worse' ? 'worse' : 'may be chance', digits: 0 },
    ],
  };
};

const compared = (
  model: ScoredModel,
  base: ScoredModel,
  tasks: readonly TaskData[],
  comparisons: Comparisons,
): Compared[] =>
  tasks.flatMap(({ page: { name: task, metric } }) => {
    const [result, rival] = [model.results.get(task), base.results.get(task)];
    if (metric === null || result === undefined || rival === undefined) return [];
    const comparison = comparisons.compare({ results: [result] }, { results: [rival] }, metric);
    return comparison?.p === undefined ? [] : [{ model, task, metric, comparison }];
  });
