import { describe, expect, it } from 'vitest';
import type { Cell, ScoreTable } from '../../../src/study/scores/reading/score-table.js';
import type { ScoredExperiment } from '../../../src/study/scores/reading/scored-experiment.js';
import { constructedExperiment } from '../../fixtures/scored.js';
import { tablesOf } from '../../fixtures/tables.js';

// Nine pairs: math-3 makes the best merges and math-1 the worst.
const byTaskExpert = [70, 71, 72, 80, 81, 82, 95, 96, 97];

const experiment = constructedExperiment({
  swahili: {
    base: 60,
    tasks: [68, 71, 82],
    languages: [59, 62, 64],
    pairs: {
      default: byTaskExpert,
      'grid/b3-u1': byTaskExpert.map((right) => right - 1),
      'grid/b4-u1': byTaskExpert.map((right) => right + 1),
    },
  },
});

const tableOf = (of: ScoredExperiment, id: string): ScoreTable => {
  const table = tablesOf(of, { tables: [id], resamples: 1000 }).find((one) => one.id === id);
  if (table === undefined) throw new Error(`no table ${id}`);
  return table;
};

const cellOf = (table: ScoreTable, row: string, column: string): Cell | undefined =>
  table.rows.find(({ id }) => id === row)?.cells[table.columns.findIndex(({ id }) => id === column)] ??
  undefined;

const width = (cell: Cell | undefined): number =>
  (cell?.interval?.[1] ?? Number.NaN) - (cell?.interval?.[0] ?? Number.NaN);

describe('intervals in tables', () => {
  const table1 = tableOf(experiment, 'table-1');
  const intervals = tableOf(experiment, 'intervals');

  it('of a mean over pairs have the effects of experts and of problems', () => {
    const mean = cellOf(table1, 'swahili/avg', 'swap-default');
    expect(mean?.estimand).toBe('task experts, language experts and problems like these');
    // From task experts alone: percents 28.4, 32.4 and 38.4 have a standard deviation of 5.03, over √3 2.91.
    expect(mean?.stderr).toBeGreaterThan(2.9);
    // Student's t with about two degrees of freedom has a quantile of 4.3.
    expect(width(mean)).toBeGreaterThan(2 * 3 * (mean?.stderr ?? Number.NaN));
  });

  it('stand beside the plain standard error, which takes the nine as independent', () => {
    const row = 'swahili/mgsm_direct_sw/swap-default/avg';
    const plain = byTaskExpert.map((right) => right / 2.5);
    const mean = plain.reduce((sum, value) => sum + value, 0) / 9;
    const squares = plain.reduce((sum, value) => sum + (value - mean) ** 2, 0);
    expect(cellOf(intervals, row, 'plain-stderr')?.value).toBeCloseTo(Math.sqrt(squares / 8 / 9), 10);
    expect(cellOf(intervals, row, 'stderr')?.value).toBe(
      cellOf(table1, 'swahili/avg', 'swap-default')?.stderr,
    );
    expect(cellOf(intervals, row, 'estimand')?.value).toBe(
      'task experts, language experts and problems like these',
    );
  });

  it('of the highest and least score choose again, and say so', () => {
    const highest = cellOf(table1, 'swahili/max', 'swap-default');
    expect(highest?.stderr).toBeUndefined();
    expect(highest?.estimand).toBe('these models only, problems like these');
    const middle = ((highest?.interval?.[0] ?? 0) + (highest?.interval?.[1] ?? 0)) / 2;
    expect(middle).toBeLessThan(38.8);
    const least = cellOf(table1, 'swahili/min', 'swap-default');
    expect(((least?.interval?.[0] ?? 0) + (least?.interval?.[1] ?? 0)) / 2).toBeGreaterThan(28);
    expect(table1.notes.join(' ')).toContain('repeat the pick in each bootstrap resample');
  });

  it('of the best configuration choose again, and of its best pair there is none', () => {
    const best = cellOf(table1, 'swahili/avg', 'swap-best');
    expect(best?.configuration).toBe('grid/b4-u1');
    const alone = {
      ...experiment,
      models: experiment.models.filter(({ variant }) => variant === 'grid/b4-u1'),
    };
    const unchosen = cellOf(tableOf(alone, 'table-1'), 'swahili/avg', 'swap-best');
    expect(unchosen?.value).toBe(best?.value);
    for (const side of [0, 1] as const)
      expect(best?.interval?.[side]).toBeLessThan(unchosen?.interval?.[side] as number);
    expect(cellOf(table1, 'swahili/max', 'swap-best')?.interval).toBeUndefined();
  });

  it('of a gain over the best expert choose it again, and are about these experts', () => {
    const gains = tableOf(experiment, 'gains');
    const gain = cellOf(gains, 'swap-default/expert', 'swahili');
    expect(gain?.model).toBe('math-3');
    expect(gain?.estimand).toBe('these models only, problems like these');
    // Choosing flatters the best of six, so the gain is more likely above its estimate.
    const middle = ((gain?.interval?.[0] ?? 0) + (gain?.interval?.[1] ?? 0)) / 2;
    expect(middle).toBeGreaterThan(gain?.value as number);
    expect(gains.notes.join(' ')).toContain('repeat the choice in each bootstrap resample');
  });

  it('of one pair are about its two experts only', () => {
    const models = experiment.models.filter(
      ({ role, name }) => role !== 'merge' || name.includes('math-1+swh-1'),
    );
    const one = tableOf({ ...experiment, models }, 'table-1');
    expect(cellOf(one, 'swahili/avg', 'swap-default')?.estimand).toBe(
      'these two experts only, problems like these',
    );
  });

  it('of some pairs of a grid are about these only; of pairs that share no expert, about pairs', () => {
    const only = (pairs: readonly string[]) =>
      tableOf(
        {
          ...experiment,
          models: experiment.models.filter(
            ({ role, name }) => role !== 'merge' || pairs.some((pair) => name.includes(pair)),
          ),
        },
        'table-1',
      );
    const some = only(['math-1+swh-1', 'math-1+swh-2', 'math-2+swh-1']);
    expect(cellOf(some, 'swahili/avg', 'swap-default')?.estimand).toBe(
      'these models only, problems like these',
    );
    const apart = only(['math-1+swh-1', 'math-2+swh-2', 'math-3+swh-3']);
    expect(cellOf(apart, 'swahili/avg', 'swap-default')?.estimand).toBe(
      'pairs of experts and problems like these',
    );
  });

  it('without results by problem have the most that problems can make', () => {
    const models = experiment.models.map((model) => ({
      ...model,
      results: new Map([...model.results].map(([task, result]) => [task, { ...result, problems: [] }])),
    }));
    const table = tableOf({ ...experiment, models }, 'table-1');
    const own = cellOf(table, 'swahili/avg', 'swap-default')?.stderr ?? Number.NaN;
    expect(own).toBeGreaterThan(cellOf(table1, 'swahili/avg', 'swap-default')?.stderr ?? Number.NaN);
    expect(cellOf(table, 'swahili/max', 'swap-default')?.interval).toBeUndefined();
  });
});
