import { describe, expect, it } from 'vitest';
import type { TableOptions } from '../../src/study/scores/boards/board.js';
import { cellText, type ScoreTable } from '../../src/study/scores/reading/score-table.js';
import type { ScoredExperiment } from '../../src/study/scores/reading/scored-experiment.js';
import {
  constructedExperiment,
  constructedResult,
  exactMatch,
  mgsm,
  outcomes,
  type RightAnswers,
  scoredModel,
  seeded,
} from '../fixtures/scored.js';
import { tablesOf } from '../fixtures/tables.js';

/**
 * Right answers of 250 that give the paper's figures of Swahili if it states single ones (multiples of 0.4).
 */
const swahili: RightAnswers = {
  base: 62,
  tasks: [68, 71, 82],
  languages: [59, 62, 64],
  references: { joint: 80 },
  pairs: {
    default: [74, 76, 78, 80, 81, 82, 83, 84, 91],
    'soup/uniform': [64, 70, 72, 73, 74, 75, 76, 76, 80],
    'soup/magnitude': [60, 61, 62, 63, 64, 65, 66, 67, 68],
    'ties/d0.2': [63, 70, 72, 73, 74, 75, 76, 77, 81],
  },
  soupOfEach: 82,
  multilingual: 74,
};

const resamples = 200;

const tableOf = (experiment: ScoredExperiment, name: string, options: TableOptions = {}): ScoreTable => {
  const [table, ...others] = tablesOf(experiment, { tables: [name], resamples, ...options });
  if (table === undefined) throw new Error(`there is no ${name}`);
  expect(others.filter(({ id }) => id === table.id)).toEqual([]);
  return table;
};

const rowOf = ({ rows, columns }: ScoreTable, id: string): Record<string, string> => {
  const row = rows.find((of) => of.id === id);
  if (row === undefined) throw new Error(`there is no row ${id} of ${rows.map((of) => of.id)}`);
  return Object.fromEntries(
    columns.flatMap((column, at) => {
      const text = cellText(row.cells[at] ?? null);
      return text === '' ? [] : [[column.id, text]];
    }),
  );
};

const cellOf = ({ rows, columns }: ScoreTable, row: string, column: string) =>
  rows.find(({ id }) => id === row)?.cells[columns.findIndex(({ id }) => id === column)];

describe('tables of groups', () => {
  it('have no ratio where every score is 0', () => {
    const none = { base: 0, tasks: [0], languages: [0], pairs: { default: [0], 'soup/uniform': [0] } };
    expect(tableOf(constructedExperiment({ swahili: none }), 'table-1').derived ?? []).toEqual([]);
  });

  it('say of which models there is no score', () => {
    const whole = constructedExperiment({ swahili });
    expect(tableOf(whole, 'table-1').notes.join()).not.toContain('models have scores');
    const lacking = {
      ...whole,
      models: whole.models.map((model) =>
        model.name === 'math-2' || (model.task === 'math-1' && model.variant === 'default')
          ? { ...model, results: new Map() }
          : model,
      ),
    };
    const { notes } = tableOf(lacking, 'table-1');
    expect(notes).toContain('swahili: task experts: 2 of 3 models have scores.');
    expect(notes).toContain('swahili: swap, default: 6 of 9 models have scores.');
    expect(notes.join()).not.toContain('language experts:');
  });

  it('leave out a model whose metric is NaN, and say so where the others are a mean', () => {
    const whole = constructedExperiment({ swahili }, { elsewhere: { english: () => 100 } });
    const models = whole.models.map((model) => {
      const { mgsm_direct_en: result, ...others } = Object.fromEntries(model.results);
      if (model.name !== 'math-1' || result === undefined) return model;
      const lost = { ...result, metrics: { [exactMatch]: null } };
      return scoredModel({ ...model, results: { ...others, mgsm_direct_en: lost } });
    });
    const lacking = { ...whole, models };
    const regressions = tableOf(lacking, 'regressions');
    expect(cellOf(regressions, 'swahili/swap-default/english/mgsm_direct_en', 'task-experts')).toMatchObject({
      value: 0,
      flag: '2 of 3 models have scores of mgsm_direct_en',
    });
    expect(cellOf(regressions, 'swahili/swap-default/english/mgsm_direct_en', 'base')).not.toHaveProperty(
      'flag',
    );
    for (const [table, row, column] of [
      ['table-2', 'english', 'task'],
      ['table-5', 'MGSM/english', 'task'],
    ] as const)
      expect(cellOf(tableOf(lacking, table), row, column)).toMatchObject({
        n: 2,
        flag: '2 of 3 models have scores of mgsm_direct_en',
      });
  });
});

describe('Table 1', () => {
  const experiment = constructedExperiment({ swahili });
  const table = tableOf(experiment, 'table-1');

  it('has minimum, mean and maximum over nine pairs, three experts and the base', () => {
    const common = { base: '24.8' };
    expect(rowOf(table, 'swahili/min')).toEqual({
      ...common,
      language: '23.6',
      task: '27.2',
      'soup-best': '25.6',
      'swap-default': '29.6',
      'swap-best': '29.6',
    });
    // 59 + 62 + 64 = 185 of 750; 221 of 750; 660 and 729 of 2250.
    expect(rowOf(table, 'swahili/avg')).toEqual({
      ...common,
      language: '24.7',
      task: '29.5',
      'soup-best': '29.3',
      'swap-default': '32.4',
      'swap-best': '32.4',
    });
    expect(rowOf(table, 'swahili/max')).toEqual({
      ...common,
      language: '25.6',
      task: '32.8',
      'soup-best': '32.0',
      'swap-default': '36.4',
      'swap-best': '36.4',
    });
  });

  it('has the number of models, and the standard error over them and problems, or the harness’s of one', () => {
    expect(cellOf(table, 'swahili/avg', 'language')).toMatchObject({ n: 3, source: 'computed' });
    // Percents 23.6, 24.8, 25.6: over models alone 1.0066 / √3 = 0.5812, less than from problems alone.
    expect(cellOf(table, 'swahili/avg', 'language')?.stderr).toBeGreaterThan(1.4);
    expect(cellOf(table, 'swahili/avg', 'language')?.estimand).toBe(
      'language experts and problems like these',
    );
    // 62 of 250: sqrt(0.248 · 0.752 / 249).
    expect(cellOf(table, 'swahili/avg', 'base')?.stderr).toBeCloseTo(
      100 * Math.sqrt((0.248 * 0.752) / 249),
      10,
    );
    expect(cellOf(table, 'swahili/max', 'swap-default')).toMatchObject({
      n: 9,
      model: 'swahili/math-3+swh-3/default',
      configuration: 'default',
    });
  });

  it('marks the best of a row, and all that are as good', () => {
    const best = (row: string) =>
      table.columns.filter((_, at) => table.rows.find(({ id }) => id === row)?.cells[at]?.mark === 'best');
    expect(best('swahili/max').map(({ id }) => id)).toEqual(['swap-default', 'swap-best']);
  });

  it('takes one configuration a language, that of the best mean', () => {
    const of = (grid: Readonly<Record<string, readonly number[]>>) =>
      tableOf(
        constructedExperiment({ swahili: { ...swahili, pairs: { ...swahili.pairs, ...grid } } }),
        'table-1',
      );
    const nine = (each: number) => Array.from({ length: 9 }, () => each);
    // `grid/b3-u0` has the best pair, `grid/b4-u1` the best mean.
    const chosen = of({ 'grid/b3-u0': [...nine(75).slice(1), 120], 'grid/b4-u1': nine(84) });
    expect(cellOf(chosen, 'swahili/avg', 'swap-best')).toMatchObject({ configuration: 'grid/b4-u1' });
    expect(rowOf(chosen, 'swahili/max')['swap-best']).toBe('33.6');
    expect(chosen.notes.join('\n')).toContain('swap, best is grid/b4-u1, the best mean of 3 configurations');
    // A configuration that lacks a pair does not compete.
    const incomplete = of({ 'grid/b3-u0': nine(120).slice(1) });
    expect(cellOf(incomplete, 'swahili/avg', 'swap-best')).toMatchObject({ configuration: 'default' });
    expect(incomplete.notes.join('\n')).toContain('1 without scores for some pairs are excluded');
  });

  it('has the best of flat configurations beside what is left of it on the other half of the problems', () => {
    const random = seeded(11);
    const flat = Object.fromEntries(
      Array.from({ length: 81 }, (_, at) => [
        `grid/b${at}-u0`,
        Array.from({ length: 9 }, () => outcomes(0).filter(() => random() < 0.3).length),
      ]),
    );
    const cell = cellOf(
      tableOf(constructedExperiment({ swahili: { pairs: flat } }), 'table-1'),
      'swahili/avg',
      'swap-best',
    );
    // The probability of a right answer is 0.3 in all of them.
    expect(cell?.value).toBeGreaterThan(30.9);
    expect(cell?.otherHalf).toBeLessThan(30.4);
    expect(cell?.otherHalf).toBeGreaterThan(29);
  });

  it('leaves cells empty where there are no models or scores, and never says 0', () => {
    const some = tableOf(constructedExperiment({ swahili, telugu: { base: 30 } }), 'table-1');
    expect(rowOf(some, 'telugu/avg')).toEqual({ base: '12.0' });
    expect(tablesOf(constructedExperiment({}), {})).toEqual([]);
  });

  it('has the lowest for the best where less is better', () => {
    const perplexity = (name: string, value: number) =>
      constructedResult({
        model: name,
        task: 'layerloom_mgsm_ppl_sw',
        metric: 'byte_perplexity,none',
        scores: Array.from({ length: 50 }, () => [-Math.log(value) * 100, 100] as const),
        value,
        higherIsBetter: false,
      });
    const models = experiment.models.map((model, at) =>
      scoredModel({
        ...model,
        results: { layerloom_mgsm_ppl_sw: perplexity(model.name, 4 + (at % 10) / 10) },
      }),
    );
    const tasks = new Map([['swahili', ['layerloom_mgsm_ppl_sw']]]);
    const of = tableOf({ ...experiment, models, tasks }, 'table-1');
    expect(of.id).toBe('table-1/byte-perplexity');
    const row = of.rows.find(({ id }) => id === 'swahili/avg')?.cells ?? [];
    const values = row.flatMap((cell) => (typeof cell?.value === 'number' ? cell.value : []));
    expect(row.find((cell) => cell?.mark === 'best')?.value).toBe(Math.min(...values));
  });
});

describe('Table 2', () => {
  const experiment = constructedExperiment(
    { swahili },
    { elsewhere: { english: ({ role }) => (role === 'base' ? 140 : role === 'merge' ? 160 : 165) } },
  );
  const table = tableOf(experiment, 'table-2');

  it('adds joint SFT, TIES, English and the mean of all languages', () => {
    expect(table.columns.map(({ id }) => id)).toEqual([
      'base',
      'language',
      'task',
      'joint',
      'soup-best',
      'ties-best',
      'swap-default',
      'swap-best',
    ]);
    expect(rowOf(table, 'max')).toMatchObject({ joint: '32.0', 'ties-best': '32.4' });
    expect(rowOf(table, 'english')).toMatchObject({ base: '56.0', 'swap-best': '64.0', task: '66.0' });
    // (24.8 + 56.0) / 2; (32.4 + 64) / 2.
    expect(rowOf(table, 'all')).toMatchObject({ base: '40.4', 'swap-default': '48.2' });
    expect(table.derived).toMatchObject([{ id: 'swap-best-over-joint', value: 4.4 }]);
  });

  it('has no mean over languages of models that lack one of them', () => {
    const lacking = constructedExperiment(
      { swahili },
      {
        elsewhere: {
          english: ({ role, name }) => (role === 'merge' && name.includes('math-2') ? undefined : 150),
        },
      },
    );
    expect(rowOf(tableOf(lacking, 'table-2'), 'all')['swap-default']).toBeUndefined();
  });
});

describe('a reference that is for one language', () => {
  /** As with `every_language: true`: each model has results in both languages. */
  const everyLanguage = (): ScoredExperiment => {
    const experiment = constructedExperiment({
      swahili,
      telugu: { base: 50, references: { joint: 200 }, pairs: { default: [60, 61] } },
    });
    return {
      ...experiment,
      models: experiment.models.map((model) =>
        model.name !== 'joint-tel'
          ? model
          : {
              ...model,
              results: new Map([
                ...model.results,
                [
                  mgsm('swahili'),
                  constructedResult({
                    model: model.name,
                    task: mgsm('swahili'),
                    scores: outcomes(200, 250, 99),
                  }),
                ],
              ]),
            },
      ),
    };
  };

  it('counts in that language alone, though it is measured in all', () => {
    const experiment = everyLanguage();
    const joint = tableOf(experiment, 'table-2/swahili');
    expect(rowOf(joint, 'max')['joint']).toBe('32.0');
    expect(cellOf(joint, 'avg', 'joint')).toMatchObject({ n: 1, model: 'joint-swh' });
    const { rows } = tableOf(experiment, 'comparisons');
    const own = rows.find(({ label }) => label === 'swahili: swap, default minus joint SFT');
    expect(own?.cells[2]?.value).toBeCloseTo(0.4, 6);
  });
});

describe('tables of problems that cannot tell', () => {
  const right = (of: number): RightAnswers => ({
    base: of,
    tasks: [of, of, of],
    languages: [of, of, of],
    pairs: {
      default: Array(9).fill(of),
      'grid/b3-u0': Array(9).fill(of),
      'soup/uniform': Array(9).fill(of),
      'soup/magnitude': Array(9).fill(of),
    },
    soupOfEach: of,
  });
  const few = (n: number) => ({
    ...right(1),
    pairs: { ...right(1).pairs, 'grid/b3-u0': [n, n, 1, 1, 0, 1, 1, 1, 1] },
  });
  const tablesAt = (of: RightAnswers, n: number) =>
    tablesOf(constructedExperiment({ swahili: of }, { n }), { resamples });

  it.each([
    ['two problems', few(2), 2, 'too few problems to say (2 problems, at least 30 are needed)'],
    ['29 problems', few(29), 29, 'too few problems to say (29 problems, at least 30 are needed)'],
    ['a floor', right(0), 250, 'all are at the floor of the metric (250 problems)'],
    ['a ceiling', right(250), 250, 'all are at the ceiling of the metric (250 problems)'],
  ])('name no best: %s', (_, of, n, reason) => {
    const tables = tablesAt(of, n);
    const table1 = tables.find(({ id }) => id === 'table-1');
    expect(table1?.notes).toContain(`swahili: no model is called the best: ${reason}.`);
    expect(table1?.derived).toEqual([]);
    const cells = tables.flatMap(({ rows }) =>
      rows.flatMap((row) => row.cells.filter((cell) => cell !== null)),
    );
    expect(cells.filter(({ mark }) => mark === 'best')).toEqual([]);
    expect(tables.map(({ id }) => id)).not.toContain('patterns');
    expect(JSON.stringify(tables)).not.toMatch(/the best mean of|above \d/);
    const verdicts = tables
      .find(({ id }) => id === 'comparisons')
      ?.rows.map(({ cells: of }) => of.at(-1)?.value);
    const words = n < 30 ? 'too few problems to say' : reason.replace(/^all are | \(.*/g, '');
    expect(new Set(verdicts)).toEqual(new Set([words]));
  });

  it('name it from 30 problems on', () => {
    const table1 = tablesAt(few(30), 30).find(({ id }) => id === 'table-1');
    expect(cellOf(table1 as ScoreTable, 'swahili/avg', 'swap-best')?.configuration).toBe('grid/b3-u0');
    expect(table1?.rows.flatMap(({ cells }) => cells.flatMap((cell) => cell?.mark ?? []))).not.toEqual([]);
  });

  it('do not choose among configurations that are equal, though other models differ', () => {
    const equal = { ...right(80), base: 60 };
    const table1 = tablesAt(equal, 250).find(({ id }) => id === 'table-1');
    expect(table1?.notes).toContain('swahili: swap, best is not chosen: all are equal (250 problems).');
    expect(cellOf(table1 as ScoreTable, 'swahili/avg', 'swap-best')).toBeNull();
  });
});

describe('Tables 5 and 6', () => {
  it('have the mean over experts in shares, and the merges of soups', () => {
    const experiment = constructedExperiment({ swahili, telugu: { base: 30, languages: [50, 50, 50] } });
    expect(rowOf(tableOf(experiment, 'table-5'), 'MGSM/swahili')).toEqual({
      base: '0.248',
      task: '0.295',
      swahili: '0.247',
    });
    expect(rowOf(tableOf(experiment, 'table-5'), 'MGSM/telugu')).toEqual({ base: '0.120', telugu: '0.200' });
    expect(rowOf(tableOf(experiment, 'table-6'), 'swahili')).toEqual({
      'soup-best': '29.3',
      'swap-default': '32.4',
      'soup-of-each': '32.8',
      multilingual: '29.6',
    });
  });
});

describe('the other tables', () => {
  const experiment = constructedExperiment(
    {
      swahili: {
        ...swahili,
        pairs: {
          ...swahili.pairs,
          'layers/b0-u0': [60, 60, 60, 60, 60, 60, 60, 60, 69],
          'layers/b3-u1': [70, 70, 70, 90, 90, 90, 70, 70, 70],
          'layers/b5-u2-tb1-tu1': [75, 75, 75, 75, 75, 75, 75, 75, 75],
        },
      },
    },
    { elsewhere: { english: ({ role }) => (role === 'base' ? 180 : 130) } },
  );

  it('compare layers and transitions as the ablation plan asks', () => {
    const layers = tableOf(experiment, 'ablation-layers');
    expect(layers.rows.map(({ id }) => id)).toEqual([
      'b0-u0-tb0-tu0',
      'b3-u1-tb0-tu0',
      'b5-u2-tb0-tu0',
      'b5-u2-tb1-tu1',
    ]);
    expect(rowOf(layers, 'b0-u0-tb0-tu0')).toEqual({ 'swahili/avg': '24.4', 'swahili/max': '27.6' });
    expect(rowOf(layers, 'b3-u1-tb0-tu0')).toEqual({ 'swahili/avg': '30.7', 'swahili/max': '36.0' });
    expect(tableOf(experiment, 'ablation-transition').rows.map(({ id }) => id)).toEqual([
      'b5-u2-tb0-tu0',
      'b5-u2-tb1-tu1',
    ]);
  });

  it('give gains over the best single expert and over the base, in points', () => {
    const gains = tableOf(experiment, 'gains');
    // 32.4 minus 32.8 of math-3, and minus 24.8.
    expect(rowOf(gains, 'swap-default/expert')).toEqual({ swahili: '-0.4', mean: '-0.4' });
    expect(rowOf(gains, 'swap-default/base')).toEqual({ swahili: '7.6', mean: '7.6' });
    // References beside them: 221 of 750 and 80 of 250, minus 62 of 250; the best single expert has 82.
    expect(rowOf(gains, 'task/base')).toEqual({ swahili: '4.7', mean: '4.7' });
    expect(rowOf(gains, 'joint/base')).toEqual({ swahili: '7.2', mean: '7.2' });
    expect(rowOf(gains, 'joint/expert')).toEqual({ swahili: '-0.8', mean: '-0.8' });
    expect(gains.rows.map(({ id }) => id).filter((id) => id.startsWith('task/'))).toEqual(['task/base']);
    const cell = cellOf(gains, 'swap-default/base', 'swahili');
    expect(cell?.interval?.[0]).toBeLessThan(7.6);
    expect(cell?.interval?.[1]).toBeGreaterThan(7.6);
  });

  it('count the pairs that are above both of their experts', () => {
    // The default's pairs with math-3 (82) have 83, 84 and 91; math-1 and math-2 have 68 and 71: all win.
    expect(rowOf(tableOf(experiment, 'wins'), 'swap-default')).toEqual({
      'swahili/wins': '9',
      'swahili/pairs': '9',
    });
    // TIES: 63, 70, 72 against 68; 73, 74, 75 against 71; 76, 77, 81 against 82.
    expect(rowOf(tableOf(experiment, 'wins'), 'ties-default')).toEqual({
      'swahili/wins': '5',
      'swahili/pairs': '9',
    });
  });

  it('show what is lost in other languages', () => {
    const lost = tableOf(experiment, 'regressions');
    const row = rowOf(lost, 'swahili/swap-default/english/mgsm_direct_en');
    expect(row).toMatchObject({ score: '52.0', base: '-20.0', 'task-experts': '0.0', worse: 'base' });
  });

  it('find the best layers of each language and task expert', () => {
    const patterns = tableOf(experiment, 'patterns');
    expect(rowOf(patterns, 'swahili/math-2')).toMatchObject({ layers: '(3, 1)', 'layers-score': '36.0' });
    expect(rowOf(patterns, 'swahili/math-3')).toMatchObject({ layers: '(5, 2)', configuration: 'default' });
  });

  it('show reverted task experts beside the experts', () => {
    const reverted = [60, 66, 72].map((right, at) =>
      scoredModel({
        name: `all/math-${at + 1}/rows/target-kept-0.8`,
        language: 'all',
        task: `math-${at + 1}`,
        method: 'revert',
        entry: 'rows',
        variant: 'rows/target-kept-0.8',
        results: { [mgsm('swahili')]: outcomes(right) },
      }),
    );
    const table = tableOf({ ...experiment, models: [...experiment.models, ...reverted] }, 'reverted');
    expect(rowOf(table, 'task')).toEqual({ swahili: '29.5', english: '52.0', mean: '40.7' });
    expect(rowOf(table, 'rows/target-kept-0.8')).toEqual({ swahili: '26.4' });
    expect(tablesOf(experiment, { tables: ['reverted'] })).toEqual([]);
    const compared = tableOf(
      { ...experiment, models: [...experiment.models, ...reverted] },
      'reverted/differences',
    );
    // 198 less 221, of 750.
    expect(rowOf(compared, 'swahili/rows/target-kept-0.8')).toMatchObject({ difference: '-3.1' });
    expect(cellOf(compared, 'swahili/rows/target-kept-0.8', 'difference')).toMatchObject({
      n: 3,
      estimand: 'task experts and problems like these',
    });
    // With one expert, that expert alone.
    const one = tableOf(
      { ...experiment, models: [...experiment.models, ...reverted.slice(2)] },
      'reverted/differences',
    );
    expect(rowOf(one, 'swahili/rows/target-kept-0.8')).toMatchObject({ difference: '-4.0' });
  });

  it('show windows of a run by the step at which they end, beside its checkpoints', () => {
    const task = mgsm('swahili');
    const checkpoint = (step: number, right: number) =>
      scoredModel({ name: `sft-${step}`, role: 'checkpoint', results: { [task]: outcomes(right) } });
    const window = (label: string, until: number, right: number) =>
      scoredModel({
        name: `all/sft/w/${label}-to${until}`,
        language: 'all',
        task: 'sft',
        method: 'soup',
        entry: 'w',
        variant: `w/${label}-to${until}`,
        configuration: { schedule: 'wsm', window: 2, until },
        results: { [task]: outcomes(right) },
      });
    const ofRun = [
      ...[checkpoint(90, 50), checkpoint(200, 60), checkpoint(1000, 65)],
      ...[window('wsm-last2', 200, 70), window('wsm-last2', 1000, 80), window('uniform-last3', 1000, 75)],
    ];
    const withRun = { ...experiment, models: [...experiment.models, ...ofRun] };
    const table = tableOf(withRun, 'windows');
    expect(table.id).toBe('windows/swahili');
    expect(table.columns.map(({ id }) => id)).toEqual(['200', '1000']);
    expect(rowOf(table, 'sft/checkpoint')).toEqual({ 200: '24.0', 1000: '26.0' });
    expect(rowOf(table, 'sft/w/wsm-last2')).toEqual({ 200: '28.0', 1000: '32.0' });
    expect(rowOf(table, 'sft/w/uniform-last3')).toEqual({ 1000: '30.0' });
    const compared = tableOf(withRun, 'windows/swahili/differences');
    // 150 minus 125, of 500; 75 minus 65, of 250.
    expect(rowOf(compared, 'swahili/sft/w/wsm-last2')).toMatchObject({ difference: '5.0' });
    expect(rowOf(compared, 'swahili/sft/w/uniform-last3')).toMatchObject({ difference: '4.0' });
    expect(tablesOf(experiment, { tables: ['windows'] })).toEqual([]);
  });

  it('list every model', () => {
    const models = tableOf(experiment, 'models');
    expect(models.rows).toHaveLength(experiment.models.length);
    expect(rowOf(models, 'joint-swh')).toEqual({ mgsm_direct_sw: '32.0', mgsm_direct_en: '52.0' });
  });
});

describe('comparisons', () => {
  const experiment = constructedExperiment({ swahili });

  it('have the difference, its interval, and p-values adjusted for the language', () => {
    const table = tableOf(experiment, 'comparisons');
    const row = rowOf(table, 'swahili/mgsm_direct_sw/swap-default/base');
    expect(row).toMatchObject({ task: 'mgsm_direct_sw', problems: '250', difference: '7.6' });
    expect(row['only-a']).toBeUndefined();
    const values = table.rows.map(({ cells }) => [cells[7]?.value, cells[8]?.value]);
    expect(values.length).toBeGreaterThan(20);
    for (const [p, adjusted] of values) expect(adjusted).toBeGreaterThanOrEqual(Number(p));
  });

  it('count the problems of one model against one', () => {
    const row = rowOf(tableOf(experiment, 'comparisons'), 'swahili/mgsm_direct_sw/soup-of-each/base');
    expect(Number(row['only-a']) - Number(row['only-b'])).toBe(82 - 62);
  });

  it('leave out what is not of the same problems, and tell it once', () => {
    const models = experiment.models.map((model) =>
      model.role === 'joint'
        ? scoredModel({
            ...model,
            results: {
              [mgsm('swahili')]: constructedResult({ model: model.name, scores: outcomes(80, 249) }),
            },
          })
        : model,
    );
    const table = tableOf({ ...experiment, models }, 'comparisons');
    expect(table.rows.some(({ id }) => id.includes('joint'))).toBe(false);
    expect(table.rows.some(({ id }) => id.includes('swap-default/base'))).toBe(true);
    expect(table.refusals.join('\n')).toContain('joint-swh lacks problem 249');
  });

  it('have neither test nor interval without results by problem', () => {
    const models = experiment.models.map((model) =>
      scoredModel({
        ...model,
        results: Object.fromEntries([...model.results].map(([task, of]) => [task, { ...of, problems: [] }])),
      }),
    );
    const table = tableOf({ ...experiment, models }, 'comparisons');
    expect(Object.keys(rowOf(table, 'swahili/mgsm_direct_sw/swap-default/base'))).toEqual([
      'task',
      'problems',
      'difference',
      'verdict',
    ]);
  });
});

describe('tables', () => {
  const experiment = constructedExperiment({ swahili });

  it('are refused by a name or a metric that is unknown', () => {
    expect(() => tablesOf(experiment, { tables: ['tabel-1'] })).toThrow('did you mean table-1?');
    expect(() => tablesOf(experiment, { metric: 'exact_match,flexible-extrac' })).toThrow(
      `did you mean ${exactMatch}?`,
    );
  });

  it('are of the metric that is asked for, where a task has it', () => {
    const models = experiment.models.map((model) =>
      scoredModel({
        ...model,
        results: Object.fromEntries(
          [...model.results].map(([task, of]) => [
            task,
            { ...of, metrics: { ...of.metrics, 'exact_match,strict-match': 0.5 } },
          ]),
        ),
      }),
    );
    const of = tableOf({ ...experiment, models }, 'table-1', { metric: 'exact_match,strict-match' });
    expect(rowOf(of, 'swahili/avg')['swap-default']).toBe('50.0');
  });
});
