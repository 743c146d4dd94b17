import { describe, expect, it } from 'vitest';
import type { TableOptions } from '../../src/study/scores/boards/board.js';
import { cellText, type ScoreTable } from '../../src/study/scores/reading/score-table.js';
import type { ScoredExperiment, ScoredModel } from '../../src/study/scores/reading/scored-experiment.js';
import { constructedResult, mgsm, outcomes, scoredModel } from '../fixtures/scored.js';
import { tablesOf } from '../fixtures/tables.js';

const task = mgsm('swahili');
const byteTask = 'layerloom_perplexity_sw';

/** Right answers out of 250 by α, for one curve. */
type Right = Readonly<Record<string, number>>;

const merge = (lambda: number, experts: Partial<ScoredModel>, right: number): ScoredModel =>
  scoredModel({
    language: 'swahili',
    method: 'task_arithmetic',
    configuration: {
      lambda,
      normalize: false,
      weights: experts.task && experts.languageExpert ? [1, 1] : [1],
    },
    name: `${experts.task}+${experts.languageExpert}/${lambda}`,
    entry: 'alpha',
    variant: `alpha/l${lambda}`,
    ...experts,
    results: { [task]: outcomes(right, 250, right) },
  });

const study = (
  math: Right,
  swahili: Right,
  both: Right,
  { second }: { second?: Right } = {},
): ScoredExperiment => {
  const single = (role: 'task' | 'language', name: string, of: Right): ScoredModel[] => {
    const own = role === 'task' ? { task: name, language: 'all' } : { languageExpert: name };
    const expert = of['1'];
    return [
      ...(expert === undefined
        ? []
        : [
            scoredModel({
              name,
              role,
              languages: ['swahili'],
              results: { [task]: outcomes(expert, 250, expert) },
            }),
          ]),
      ...Object.entries(of).flatMap(([lambda, right]) =>
        lambda === '1' ? [] : [merge(Number(lambda), own, right)],
      ),
    ];
  };
  return {
    directory: null,
    languages: ['swahili'],
    tasks: new Map([['swahili', [task]]]),
    models: [
      scoredModel({
        name: 'base',
        role: 'base',
        languages: ['swahili'],
        results: { [task]: outcomes(50, 250, 50) },
      }),
      ...single('task', 'math-1', math),
      ...(second === undefined ? [] : single('task', 'math-2', second)),
      ...single('language', 'swh-1', swahili),
      ...Object.entries(both).map(([lambda, right]) =>
        merge(Number(lambda), { task: 'math-1', languageExpert: 'swh-1' }, right),
      ),
    ],
    texts: {},
    summaries: [],
    warnings: [],
  };
};

const table = (experiment: ScoredExperiment, id: string, options: TableOptions = {}): ScoreTable => {
  const found = tablesOf(experiment, { tables: [id], resamples: 50, ...options }).find((of) => of.id === id);
  if (found === undefined) throw new Error(`there is no ${id}`);
  return found;
};

const row = ({ rows, columns }: ScoreTable, id: string): Record<string, string> => {
  const cells = rows.find((of) => of.id === id)?.cells;
  if (cells === undefined) throw new Error(`there is no row ${id} of ${rows.map((of) => of.id)}`);
  return Object.fromEntries(columns.map((column, at) => [column.id, cellText(cells[at] ?? null)]));
};

const experiment = study(
  { '0.5': 70, '1': 100, '1.5': 110 },
  { '0.5': 60, '1': 75, '1.5': 80 },
  { '0.5': 85, '1': 120 },
);

describe('scores along task vectors', () => {
  it('begin at the base, and have the expert itself at α = 1 of one alone', () => {
    const scores = table(experiment, 'alpha');
    expect(scores.columns.map(({ label }) => label)).toEqual(['α = 0', 'α = 0.5', 'α = 1', 'α = 1.5']);
    expect(row(scores, 'swahili/task/math-1')).toEqual({ 0: '20.0', 0.5: '28.0', 1: '40.0', 1.5: '44.0' });
    expect(row(scores, 'swahili/language/swh-1')).toMatchObject({ 1: '30.0' });
    // No merge of both has α = 1.5.
    expect(row(scores, 'swahili/both/math-1+swh-1')).toEqual({ 0: '20.0', 0.5: '34.0', 1: '48.0', 1.5: '' });
    expect(scores.rows.map(({ label }) => label)).toEqual([
      'swahili: task experts alone, math-1',
      'swahili: language experts alone, swh-1',
      'swahili: both experts, math-1+swh-1',
    ]);
  });

  it('have means where all experts are scored, with errors over experts and problems', () => {
    const scores = table(
      study({ '0.5': 70, '1': 100, '1.5': 110 }, {}, {}, { second: { '0.5': 80, '1': 120 } }),
      'alpha',
    );
    expect(row(scores, 'swahili/task')).toEqual({ 0: '20.0', 0.5: '30.0', 1: '44.0', 1.5: '' });
    const cells = scores.rows.find(({ id }) => id === 'swahili/task')?.cells;
    expect(cells?.[0]).toMatchObject({ n: 1, model: 'base' });
    expect(cells?.[1]).toMatchObject({ n: 2, estimand: 'task experts and problems like these' });
  });

  it('are of plain sums alone, and of several values of α', () => {
    const changed = (configuration: Readonly<Record<string, unknown>>): ScoredExperiment => ({
      ...experiment,
      models: experiment.models.map((model) =>
        model.role === 'merge'
          ? { ...model, configuration: { ...model.configuration, ...configuration } }
          : model,
      ),
    });
    for (const other of [{ normalize: true }, { weights: [1, 3] }, { lambda: 1 }])
      expect(tablesOf(changed(other), { tables: ['alpha'] })).toEqual([]);
  });
});

describe('the linearity of task vectors', () => {
  const linearity = table(experiment, 'alpha/differences', { margin: 10 });

  it('is the score less α times the gain at 1', () => {
    // Gains over 50 of 250: 20 of 50 at 0.5, where 25 are expected, and 60 at 1.5, where 75 are.
    expect(row(linearity, 'swahili/task/0.5')).toMatchObject({ difference: '-2.0' });
    expect(row(linearity, 'swahili/task/1.5')).toMatchObject({ difference: '-6.0' });
    expect(row(linearity, 'swahili/language/0.5')).toMatchObject({ difference: '-1.0' });
    expect(row(linearity, 'swahili/both/0.5')).toMatchObject({ difference: '0.0', verdict: 'within noise' });
    expect(linearity.rows[0]?.label).toBe('swahili: task experts alone, α = 0.5, minus 0.5 of the gain at 1');
  });

  it('is the score of both less the sum of the gains of each alone', () => {
    // 35 against 20 + 10, and 70 against 50 + 25.
    expect(row(linearity, 'swahili/sum/0.5')).toMatchObject({ difference: '2.0' });
    expect(row(linearity, 'swahili/sum/1')).toMatchObject({ difference: '-2.0' });
    expect(linearity.rows.map(({ id }) => id)).not.toContain('swahili/sum/1.5');
  });

  it('has the error of every score that is in the expectation', () => {
    const [at] = linearity.rows.filter(({ id }) => id === 'swahili/task/0.5');
    const interval = at?.cells[0]?.interval ?? [Number.NaN, Number.NaN];
    // By problem: s(0.5) − 0.5 s(0) − 0.5 s(1), a mean with s / √n.
    const [half, none, whole] = [70, 50, 100].map((right) => outcomes(right, 250, right));
    const values = (half ?? []).map((score, i) => score - 0.5 * (none?.[i] ?? 0) - 0.5 * (whole?.[i] ?? 0));
    const mean = values.reduce((sum, value) => sum + value, 0) / 250;
    const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / 249;
    const width = interval[1] - interval[0];
    expect(width).toBeCloseTo(2 * 1.9695 * 100 * Math.sqrt(variance / 250), 1);
    expect(row(linearity, 'swahili/task/0.5')['equivalence']).toMatch(/equivalent within ±10/);
  });

  it('has no interval of perplexities, which are no means over problems', () => {
    const perplexity = (model: ScoredModel, at: number): ScoredModel => ({
      ...model,
      results: new Map([
        [
          byteTask,
          constructedResult({
            ...{ model: model.name, task: byteTask, metric: 'byte_perplexity,none', higherIsBetter: false },
            ...{
              value: 4 - 0.01 * at,
              scores: outcomes(20, 40, at).map(
                (score) => [-Math.log(4 - 0.01 * at) + score - 0.5, 1] as const,
              ),
            },
          }),
        ],
      ]),
    });
    const bytes = {
      ...experiment,
      tasks: new Map([['swahili', [byteTask]]]),
      models: experiment.models.map(perplexity),
    };
    const [departures] = tablesOf(bytes, { tables: ['alpha/byte-perplexity/differences'] });
    // Models in order: base, math-1 at 1, 0.5 and 1.5: 3.98 minus the mean of 4 and 3.99.
    const cell = departures?.rows.find(({ id }) => id === 'swahili/task/0.5')?.cells[0];
    expect(cell?.value).toBeCloseTo(3.98 - 3.995, 10);
    expect(cell?.interval).toBeUndefined();
    expect(cell?.flag).toMatch(/no results by problem/);
  });
});
