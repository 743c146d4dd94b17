import { describe, expect, it } from 'vitest';
import type { TableOptions } from '../../src/study/scores/boards/board.js';
import { compareRows } from '../../src/study/scores/comparing/paired.js';
import { pairRows } from '../../src/study/scores/intervals/paired-scores.js';
import { rowOf } from '../../src/study/scores/intervals/rows.js';
import { cellText, type ScoreTable } from '../../src/study/scores/reading/score-table.js';
import type { ScoredExperiment } from '../../src/study/scores/reading/scored-experiment.js';
import { constructedExperiment, exactMatch, mgsm, type RightAnswers } from '../fixtures/scored.js';
import { tablesOf } from '../fixtures/tables.js';

const nine = (right: number) => Array.from({ length: 9 }, () => right);

const ofLanguage = (more: number): RightAnswers => ({
  base: 60,
  pairs: {
    default: nine(80 + more),
    'layers/b0-u0': nine(40),
    'layers/b8-u4': nine(81 + more),
    'layers/b5-u2-tb1-tu1': nine(80),
    'layers/b3-u1-tb1-tu1': nine(79),
  },
});

const study = constructedExperiment({ swahili: ofLanguage(0), telugu: ofLanguage(5) });

const table = (experiment: ScoredExperiment, id: string, options: TableOptions = {}): ScoreTable => {
  const [found] = tablesOf(experiment, { tables: [id], resamples: 50, ...options });
  if (found === undefined) throw new Error(`there is no ${id}`);
  return found;
};

const row = ({ rows, columns }: ScoreTable, id: string): Record<string, string> => {
  const cells = rows.find((of) => of.id === id)?.cells;
  if (cells === undefined) throw new Error(`there is no row ${id} of ${rows.map((of) => of.id)}`);
  return Object.fromEntries(columns.map((column, at) => [column.id, cellText(cells[at] ?? null)]));
};

const modelsOf = (language: string, variant: string) =>
  study.models.filter((model) => model.language === language && model.variant === variant);

describe('differences of ablations', () => {
  const layers = table(study, 'ablation-layers/differences');

  it('are of each row and the paper’s of the same transition, and as a mean over languages', () => {
    expect(layers.rows.map(({ id }) => id)).toEqual(
      ['swahili', 'telugu', 'mean'].flatMap((place) =>
        ['b0-u0-tb0-tu0', 'b8-u4-tb0-tu0', 'b3-u1-tb1-tu1'].map((setting) => `${place}/${setting}`),
      ),
    );
    expect(layers.rows[2]?.label).toBe('swahili: (3, 1) minus (5, 2), transition 1/1');
    expect(row(layers, 'swahili/b0-u0-tb0-tu0')).toMatchObject({ difference: '-16.0', verdict: 'worse' });
    expect(row(layers, 'telugu/b0-u0-tb0-tu0')).toMatchObject({ difference: '-18.0', verdict: 'worse' });
    expect(row(layers, 'mean/b0-u0-tb0-tu0')).toMatchObject({ difference: '-17.0', verdict: 'worse' });
    expect(row(layers, 'mean/b8-u4-tb0-tu0')).toMatchObject({ difference: '0.4', verdict: 'within noise' });
  });

  it('have the interval and the p of a comparison of the same rows, adjusted for those of the language', () => {
    const task = mgsm('swahili');
    const sides = ['layers/b8-u4', 'default'].map((variant) => rowOf(modelsOf('swahili', variant), task));
    const [a, b] = sides as [ReturnType<typeof rowOf>, ReturnType<typeof rowOf>];
    const { p, interval } = compareRows(a, b, exactMatch);
    const cells = layers.rows.find(({ id }) => id === 'swahili/b8-u4-tb0-tu0')?.cells;
    expect(cells?.[0]?.interval).toEqual(interval?.map((bound) => 100 * bound));
    expect(cells?.[0]?.estimand).toBe('task experts, language experts and problems like these');
    expect(cells?.[1]?.value).toBe(p);
    expect(cells?.[2]?.value).toBeGreaterThanOrEqual(p as number);
    expect(pairRows(a, b, exactMatch)?.factors.map(({ kind }) => kind)).toEqual([
      'task experts',
      'language experts',
    ]);
  });

  it('are narrower as a mean over languages, whose own experts count apart', () => {
    const width = (id: string): number => {
      const interval = layers.rows.find((of) => of.id === id)?.cells[0]?.interval;
      return (interval?.[1] ?? Number.NaN) - (interval?.[0] ?? Number.NaN);
    };
    expect(width('mean/b0-u0-tb0-tu0')).toBeLessThan(width('swahili/b0-u0-tb0-tu0'));
    expect(layers.rows.find(({ id }) => id === 'mean/b0-u0-tb0-tu0')?.cells[0]?.estimand).toMatch(
      /problems like these, in these languages$/,
    );
  });

  it('are of the transition removed less the transition kept', () => {
    const transition = table(study, 'ablation-transition/differences');
    expect(row(transition, 'telugu/b5-u2-tb0-tu0')).toMatchObject({ difference: '2.0' });
    expect(transition.rows).toHaveLength(3);
    expect(transition.rows[0]?.label).toBe('swahili: (5, 2), transition 0/0 minus 1/1');
  });

  it('are against the default where there is no (5, 2), and of the pairs that both have', () => {
    const { pairs: _, ...base } = ofLanguage(0);
    const scaled = constructedExperiment({
      swahili: {
        ...base,
        pairs: { 'default/b4-u1': nine(80), 'layers/b3-u1': nine(79), 'layers/b0-u0': nine(70) },
      },
    });
    const lacking = {
      ...scaled,
      models: scaled.models.filter(({ name }) => name !== 'swahili/math-1+swh-1/layers/b3-u1'),
    };
    const compared = table(lacking, 'ablation-layers/differences');
    expect(compared.rows.map(({ label }) => label)).toEqual([
      'swahili: (0, 0), transition 0/0, minus the default',
      'swahili: (3, 1), transition 0/0, minus the default',
    ]);
    expect(compared.rows.map(({ cells }) => cells[0]?.n)).toEqual([9, 8]);
  });

  it('stand in the tables of scores as a mean over languages, where there are several', () => {
    expect(row(table(study, 'ablation-layers'), 'b0-u0-tb0-tu0')).toEqual({
      'swahili/avg': '16.0',
      'swahili/max': '16.0',
      'telugu/avg': '16.0',
      'telugu/max': '16.0',
      'mean/avg': '16.0',
      'mean/max': '16.0',
    });
    const one = table(constructedExperiment({ swahili: ofLanguage(0) }), 'ablation-layers');
    expect(one.columns.map(({ id }) => id)).toEqual(['swahili/avg', 'swahili/max']);
  });

  it('of too few problems say that, whatever the margin', () => {
    const few = constructedExperiment(
      { swahili: { pairs: { default: nine(8), 'layers/b0-u0': nine(7) } } },
      { n: 20 },
    );
    expect(
      row(table(few, 'ablation-layers/differences', { margin: 50 }), 'swahili/b0-u0-tb0-tu0'),
    ).toMatchObject({
      verdict: 'too few problems to say',
      equivalence: 'too few problems to say',
    });
  });
});

describe('equivalence within a margin', () => {
  const within = (margin: number, id: string) =>
    row(table(study, 'ablation-layers/differences', { margin }), id)['equivalence'];

  it('is said, is not shown, or cannot be shown by any difference', () => {
    expect(within(30, 'swahili/b8-u4-tb0-tu0')).toMatch(/^equivalent within ±30 \(p .*\)$/);
    expect(within(30, 'swahili/b0-u0-tb0-tu0')).toMatch(/^equivalent within ±30/);
    expect(within(10, 'swahili/b0-u0-tb0-tu0')).toMatch(/^not shown to be equivalent within ±10 \(p = .*\)$/);
    const words = within(0.1, 'swahili/b8-u4-tb0-tu0') ?? '';
    const least =
      /^±0.1 cannot be shown with these data, even if the difference is 0: the smallest possible margin is ±(\S+)$/.exec(
        words,
      )?.[1];
    expect(Number(least)).toBeGreaterThan(0.5);
    // The named margin can be shown: some difference would pass.
    expect(within(Number(least), 'swahili/b8-u4-tb0-tu0')).not.toContain('cannot be shown');
  });

  it('is not tested without a margin', () => {
    expect(table(study, 'ablation-layers/differences').columns.map(({ id }) => id)).not.toContain(
      'equivalence',
    );
    const notes = table(study, 'ablation-layers/differences', { margin: 2 }).notes.join(' ');
    expect(notes).toContain('two one-sided tests');
  });

  it('is not tested of a metric that is no share', () => {
    const metric = 'byte_perplexity,none';
    const models = study.models.map((model) => ({
      ...model,
      results: new Map(
        [...model.results].map(([task, result]) => [
          task,
          {
            ...result,
            metrics: { [metric]: 4 },
            higherIsBetter: { byte_perplexity: false },
            problems: result.problems.map((problem) => ({
              ...problem,
              scores: { [metric]: -1 - problem.id },
            })),
          },
        ]),
      ),
    }));
    const id = 'ablation-layers/byte-perplexity/differences';
    const { columns, notes } = table({ ...study, models }, id, { margin: 2 });
    expect(columns.map(({ id }) => id)).not.toContain('equivalence');
    expect(notes.join(' ')).toContain('equivalence is not tested');
  });

  it.each([0, -1, 100, Number.NaN, '2' as unknown as number])('refuses a margin of %s', (margin) => {
    expect(() => tablesOf(study, { margin })).toThrow(
      expect.objectContaining({ code: 'INVALID_PARAMETER' }) as Error,
    );
  });
});
