import { describe, expect, it } from 'vitest';
import { equivalenceOf } from '../../src/study/scores/comparing/equivalence.js';
import { pairRows } from '../../src/study/scores/intervals/paired-scores.js';
import { rowOf } from '../../src/study/scores/intervals/rows.js';
import { countAbove } from '../../src/study/scores/layouts/grid.js';
import { ranksOf } from '../../src/study/scores/layouts/ranks.js';
import type { ScoreTable } from '../../src/study/scores/reading/score-table.js';
import { generator } from '../fixtures/numbers.js';
import {
  constructedExperiment,
  exactMatch,
  mgsm,
  outcomes,
  type RightAnswers,
  scoredModel,
} from '../fixtures/scored.js';
import { tablesOf } from '../fixtures/tables.js';

const nine = (right: number) => Array.from({ length: 9 }, () => right);

const ofLanguage = (more: number): RightAnswers => ({
  base: 60,
  pairs: {
    default: nine(80 + more),
    'grid/b0-u0': nine(40),
    'grid/b8-u4': nine(81 + more),
    'grid/b3-u1': nine(80 + more),
    'grid/b4-u1': nine(79 + more),
  },
});

const study = constructedExperiment({ swahili: ofLanguage(0), telugu: ofLanguage(5) });

const table = (id: string, options = {}): ScoreTable => {
  const [found] = tablesOf(study, { tables: [id], ...options });
  if (found === undefined) throw new Error(`there is no ${id}`);
  return found;
};

const cellsOf = (of: ScoreTable, id: string) => of.rows.find((row) => row.id === id)?.cells ?? [];

describe('the equivalence of a grid', () => {
  it('is made for a margin only', () => {
    expect(tablesOf(study, { tables: ['equivalence'] })).toEqual([]);
  });

  it('has p of the two one-sided tests, multiplied as Holm does by hand', () => {
    const found = table('equivalence', { margin: 8 });
    const at = found.columns.findIndex(({ id }) => id === 'equivalence-p');
    const own = ['grid/b0-u0', 'grid/b3-u1', 'grid/b4-u1', 'grid/b8-u4'].map((variant) => {
      const [a, b] = [variant, 'default'].map((name) =>
        rowOf(
          study.models.filter(({ language, variant: of }) => language === 'swahili' && of === name),
          mgsm('swahili'),
        ),
      ) as [ReturnType<typeof rowOf>, ReturnType<typeof rowOf>];
      const paired = pairRows(a, b, exactMatch);
      const p = paired && equivalenceOf(paired, 0.08)?.p;
      return { variant, p: p ?? Number.NaN };
    });
    const sorted = own.toSorted((a, b) => a.p - b.p);
    let least = 0;
    for (const [rank, { variant, p }] of sorted.entries()) {
      least = Math.max(least, Math.min(1, (sorted.length - rank) * p));
      expect(cellsOf(found, `swahili/${variant}`)[at]?.value, variant).toBeCloseTo(least, 12);
      const words = cellsOf(found, `swahili/${variant}`)[at - 1]?.value;
      expect(String(words).startsWith('equivalent'), variant).toBe(least < 0.05);
    }
    const shown = sorted.filter((_, rank) => {
      const id = `swahili/${sorted[rank]?.variant}`;
      return String(cellsOf(found, id)[at - 1]?.value).startsWith('equivalent');
    });
    expect(found.notes).toContain(
      `swahili: ${shown.length} of 4 configurations are equivalent to the default.`,
    );
    expect(found.notes.join(' ')).toContain('adjusted for the rows of a language (Holm)');
  });
});

describe('a count of configurations above a row', () => {
  const resampling = { resamples: 4000, seed: 7 };

  it('is by chance what enumeration gives', () => {
    // Two problems: (2, 0) of the four draws has a sum above 0.
    const rows = [1, 1, 1].map(() => Float64Array.from([1, -1]));
    const found = countAbove(rows, resampling);
    expect(found?.above).toBe(0);
    expect(found?.mean).toBeGreaterThan(3 * 0.25 - 0.09);
    expect(found?.mean).toBeLessThan(3 * 0.25 + 0.09);
    // All three go together.
    expect([found?.most, found?.p]).toEqual([3, 1]);
    expect(countAbove([Float64Array.from([1])], resampling)).toMatchObject({ above: 1, mean: 0 });
    expect(countAbove([], resampling)).toBeUndefined();
  });

  it('agrees with another bootstrap', () => {
    const random = generator(3);
    const n = 40;
    const rows = Array.from({ length: 6 }, (_, at) =>
      Float64Array.from({ length: n }, () => Math.round(3 * random() - 1 + 0.03 * at)),
    );
    const means = rows.map((row) => row.reduce((sum, value) => sum + value, 0) / n);
    const above = means.filter((mean) => mean > 0).length;
    const draws = 20_000;
    let [total, asMany] = [0, 0];
    for (let draw = 0; draw < draws; draw += 1) {
      const sums = rows.map(() => 0);
      for (let problem = 0; problem < n; problem += 1) {
        const at = Math.floor(random() * n);
        for (const [index, row] of rows.entries())
          sums[index] = (sums[index] ?? 0) + (row[at] ?? 0) - (means[index] ?? 0);
      }
      const count = sums.filter((sum) => sum > 1e-9).length;
      total += count;
      asMany += Number(count >= above);
    }
    const found = countAbove(rows, resampling);
    expect(found?.above).toBe(above);
    expect(Math.abs((found?.mean ?? 0) - total / draws)).toBeLessThan(0.12);
    expect(Math.abs((found?.p ?? 0) - asMany / draws)).toBeLessThan(0.035);
  });

  it('stands in a table for base, experts and default', () => {
    const found = table('surpass');
    const [configurations, above, chance, most, p] = cellsOf(found, 'swahili/base').map(
      (cell) => cell?.value,
    );
    expect([configurations, above]).toEqual([5, 4]);
    expect(Number(chance)).toBeLessThan(4);
    expect(Number(most)).toBeGreaterThan(Number(chance));
    expect(Number(p)).toBeGreaterThan(0);
    expect(cellsOf(found, 'swahili/swap-default')[0]?.value).toBe(4);
  });
});

describe('ranks over languages', () => {
  it('share places of equal scores', () => {
    expect(ranksOf([3, 1, 3, 2])).toEqual([1.5, 4, 1.5, 3]);
  });

  it('are 1 for the best in every language, with the interval of drawn problems', () => {
    const found = table('ranks');
    const rank = (id: string) => cellsOf(found, id)[0];
    const base = rank('base');
    expect(base?.value).toBeGreaterThan(Number(rank('swap-default')?.value));
    for (const { cells } of found.rows) {
      const [low, high] = cells[0]?.interval ?? [Number.NaN, Number.NaN];
      expect(low).toBeLessThanOrEqual(Number(cells[0]?.value));
      expect(high).toBeGreaterThanOrEqual(Number(cells[0]?.value));
      expect(Number(cells[1]?.value)).toBe(Math.max(...cells.slice(2).map((cell) => Number(cell?.value))));
    }
    // The base has 20 right answers less than the default: no draw puts it first.
    expect(base?.interval?.[0]).toBeGreaterThan(1);
  });
});

describe('a benchmark that the experiment declares', () => {
  it('has the tables of MGSM: by language, grid and ranks, by its metric', () => {
    const tasks = new Map([...study.tasks].map(([language, [task = '']]) => [task, `riddles_${language}`]));
    const own = {
      ...study,
      tasks: new Map(
        [...study.tasks].map(([language, of]) => [language, of.map((task) => tasks.get(task) ?? task)]),
      ),
      models: study.models.map((model) => ({
        ...model,
        results: new Map(
          [...model.results].map(([task, result]) => {
            const name = tasks.get(task) ?? task;
            return [name, { ...result, task: name }];
          }),
        ),
      })),
      declared: new Map(
        [...tasks.values()].map((task) => [task, { name: 'Riddles', metric: exactMatch }] as const),
      ),
    };
    const asked = { tables: ['table-1', 'gains', 'surpass', 'ranks'], resamples: 50 };
    const found = tablesOf(own, asked);
    const rowsOf = (tables: readonly ScoreTable[]) =>
      tables.map(({ rows }) => rows.map(({ cells }) => cells.map((cell) => cell?.value)));
    expect(found.map(({ id }) => id)).toEqual(tablesOf(study, asked).map(({ id }) => `${id}/riddles`));
    expect(rowsOf(found)).toEqual(rowsOf(tablesOf(study, asked)));
  });
});

it('tells the follow-up’s ways apart, though each is a layer swap', () => {
  const study = constructedExperiment({
    swahili: { base: 50, tasks: [60], languages: [55], pairs: { default: [70] } },
  });
  const ways = ['train-then-revert', 'freeze-then-train', 'soup'].map((entry, at) =>
    scoredModel({
      ...{
        name: `swahili/math-1+swh-1/${entry}`,
        language: 'swahili',
        task: 'math-1',
        languageExpert: 'swh-1',
      },
      ...{
        method: 'layer_swap',
        entry,
        variant: entry,
        configuration: { partition: './p.json', weights: [1, 1] },
      },
      results: { mgsm_direct_sw: outcomes(80 + 10 * at, 250, 90 + at) },
    }),
  );
  const own = { ...study, models: [...study.models, ...ways] };
  const [table] = tablesOf(own, { tables: ['gains'], resamples: 50 });
  const gains = table?.rows.flatMap(({ label, cells }) =>
    label.endsWith('over the base') ? [[label.split(',')[0], cells[0]?.value]] : [],
  );
  expect(gains).toEqual(
    expect.arrayContaining([
      ['freeze-then-train', expect.closeTo(16, 6)],
      ['train-then-revert', expect.closeTo(12, 6)],
      ['soup', expect.closeTo(20, 6)],
    ]),
  );
});
