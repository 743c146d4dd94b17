import { cpSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { evaluateExperiment, formatTables, runExperiment, scoreTables } from '../../src/index.js';
import { layouts } from '../../src/study/paper/layouts.js';
import { type Base, tablesOfBases } from '../../src/study/scores/bases.js';
import type { TableOptions } from '../../src/study/scores/boards/board.js';
import { cellText, type ScoreTable } from '../../src/study/scores/reading/score-table.js';
import { temporaryDirectory } from '../fixtures/checkpoints.js';
import { cli } from '../fixtures/cli.js';
import { stubHarness } from '../fixtures/evaluation-errors.js';
import { writeExperiment } from '../fixtures/experiment.js';
import { constructedExperiment, mgsm, type RightAnswers } from '../fixtures/scored.js';

const nine = (right: number) => Array.from({ length: 9 }, () => right);

const ofLanguage = (more: number): RightAnswers => ({
  base: 60,
  tasks: [68, 71, 80].map((right) => right + more),
  languages: [59, 62, 64],
  references: { joint: 90 + more },
  pairs: { default: nine(80 + more), 'soup/uniform': nine(75), 'layers/b0-u0': nine(70) },
});

const llama: Base = {
  name: 'llama',
  experiment: constructedExperiment({ swahili: ofLanguage(0), telugu: ofLanguage(10) }),
};
const falcon: Base = {
  name: 'falcon',
  experiment: constructedExperiment({ swahili: ofLanguage(20), telugu: ofLanguage(-10) }),
};

const tablesOf = (bases: readonly Base[], options: TableOptions = {}): ScoreTable[] =>
  tablesOfBases(bases, layouts, { resamples: 50, ...options });

const cell = (
  tables: readonly ScoreTable[],
  id: string,
  base: string,
  row: string,
  column: string,
): string => {
  const table = tables.find((of) => of.id === id && of.base === base);
  if (table === undefined) throw new Error(`there is no ${id} of ${base}`);
  const at = table.columns.findIndex((of) => of.id === column);
  return cellText(table.rows.find((of) => of.id === row)?.cells[at] ?? null);
};

describe('tables of several bases', () => {
  const tables = tablesOf([llama, falcon]);

  it('are those of each base, and their means behind them', () => {
    const gains = tables.filter(({ id }) => id === 'gains');
    expect(gains.map(({ base }) => base)).toEqual(['llama', 'falcon', 'mean']);
    expect(gains[2]?.title).toBe('MGSM: gain by language and method, mean over the bases');
    // 80 and 100 of 250 minus 60; 90 and 70.
    expect(cell(tables, 'gains', 'llama', 'swap-default/base', 'swahili')).toBe('8.0');
    expect(cell(tables, 'gains', 'falcon', 'swap-default/base', 'swahili')).toBe('16.0');
    expect(cell(tables, 'gains', 'mean', 'swap-default/base', 'swahili')).toBe('12.0');
    expect(cell(tables, 'gains', 'mean', 'swap-default/base', 'mean')).toBe('10.0');
    expect(cell(tables, 'gains', 'mean', 'joint/base', 'mean')).toBe('14.0');
    expect(cell(tables, 'table-1', 'mean', 'telugu/avg', 'swap-default')).toBe('32.0');
    expect(cell(tables, 'ablation-layers', 'mean', 'b0-u0-tb0-tu0', 'mean/avg')).toBe('28.0');
    expect(tables.flatMap(({ refusals }) => refusals)).toEqual([]);
  });

  it('have no means of tests, configurations and models', () => {
    const means = tables.filter(({ base }) => base === 'mean').map(({ id }) => id);
    expect(means).toContain('table-1');
    for (const id of ['comparisons', 'intervals', 'patterns', 'models', 'ablation-layers/differences'])
      expect(means).not.toContain(id);
  });

  it('name the base in every format', () => {
    const some = tables.filter(({ id }) => id === 'gains');
    const lines = formatTables(some, 'csv').split('\n');
    expect(lines[0]?.endsWith(',base')).toBe(true);
    expect(new Set(lines.slice(1).map((line) => line.split(',').at(-1)))).toEqual(
      new Set(['llama', 'falcon', 'mean']),
    );
    expect((JSON.parse(formatTables(some, 'json')) as { tables: ScoreTable[] }).tables[1]?.base).toBe(
      'falcon',
    );
    expect(formatTables(some, 'text')).toContain('MGSM: gain by language and method, falcon');
    expect(formatTables(some, 'latex')).toContain('\\label{tab:gains/mean}');
  });

  it('leave out the mean of what only some bases have, in one message', () => {
    const telugu = constructedExperiment({ swahili: ofLanguage(20) });
    const fewer = tablesOf([llama, { name: 'falcon', experiment: telugu }]);
    expect(cell(fewer, 'gains', 'mean', 'swap-default/base', 'swahili')).toBe('12.0');
    const means = fewer.find(({ id, base }) => id === 'gains' && base === 'mean');
    // Means over two languages and over one do not combine.
    expect(means?.columns.map(({ id }) => id)).toEqual(['swahili']);
    expect(means?.notes.join(' ')).toContain('different languages');
    const renamed = {
      ...falcon.experiment,
      tasks: new Map([['swahili', [mgsm('swahili'), 'belebele_swh_Latn']]]),
      models: falcon.experiment.models.map((model) => {
        const result = model.results.get(mgsm('swahili'));
        if (result === undefined) return model;
        const task = 'belebele_swh_Latn';
        return { ...model, results: new Map([...model.results, [task, { ...result, task }]]) };
      }),
    };
    const apart = tablesOf([llama, { name: 'falcon', experiment: renamed }]);
    expect(apart.flatMap(({ refusals }) => refusals)).toEqual([
      'the bases have different benchmarks, so there is no mean for BELEBELE (scored for falcon)',
    ]);
    expect(apart.filter(({ id }) => id === 'table-1/belebele').map(({ base }) => base)).toEqual(['falcon']);
  });

  it.each([
    ['versions of the task', { taskVersion: '2.0' }, 'llama: 1.0, falcon: 2.0'],
    ['numbers of examples', { fewshot: 0 }, 'llama: 8, falcon: 0'],
    ['sampling settings', { sampling: 'temperature=0.6' }, 'llama: greedy, falcon: temperature=0.6'],
  ])('leave out the mean of different %s, and go on', (what, changes, values) => {
    const models = falcon.experiment.models.map((model) => ({
      ...model,
      results: new Map([...model.results].map(([task, result]) => [task, { ...result, ...changes }])),
    }));
    const other = { name: 'falcon', experiment: { ...falcon.experiment, models } };
    const found = tablesOf([llama, other]);
    expect(found.flatMap(({ refusals }) => refusals)[0]).toBe(
      `mgsm_direct_sw: the bases have different ${what} (${values}); so there is no mean of MGSM over the bases`,
    );
    expect(found.filter(({ base }) => base === 'mean')).toEqual([]);
    expect(cell(found, 'gains', 'falcon', 'swap-default/base', 'swahili')).toBe('16.0');
  });
});

const twoStudies = async (): Promise<[one: string, two: string]> => {
  const merges = '\n  - {name: default, method: layer_swap, bottom: 1, top: 1}\n';
  const { root, file, out } = writeExperiment(merges, { layers: 4 });
  writeFileSync(file, '\nevaluate: {tasks: {swahili: mgsm_direct_sw}}\n', { flag: 'a' });
  await runExperiment(file, { out });
  await evaluateExperiment(out, { lmEval: stubHarness });
  cpSync(out, join(root, 'two'), { recursive: true });
  return [out, join(root, 'two')];
};

describe('directories of several bases', () => {
  it('are named by their folders where their bases have one name, or as they are asked to be', async () => {
    const [one, two] = await twoStudies();
    const basesOf = async (...directories: string[]) => {
      const { tables } = await scoreTables(directories, { tables: ['table-1'] });
      return tables.map(({ base }) => base);
    };
    expect(await basesOf(one, two)).toEqual([basename(one), 'two', 'mean']);
    expect(await basesOf(`llama=${one}`, `falcon=${two}`)).toEqual(['llama', 'falcon', 'mean']);
    expect(await basesOf(`llama=${one}`, two)).toEqual(['llama', 'base', 'mean']);

    // Two bases with one name are refused, and so are published figures beside them.
    const same = scoreTables([`a=${one}`, `a=${two}`]);
    await expect(same).rejects.toMatchObject({ code: 'INVALID_PARAMETER', exitCode: 2 });
    await expect(scoreTables([`mean=${one}`, two])).rejects.toMatchObject({ code: 'INVALID_PARAMETER' });
    await expect(scoreTables([one, two], { summaries: ['table-1.csv'] })).rejects.toThrow(
      'because published figures are for one base',
    );
  }, 120_000);

  it('that are the same, or none, are told and left out, and the rest goes on', async () => {
    const [one, two] = await twoStudies();
    const link = join(temporaryDirectory(), 'link');
    symlinkSync(one, link);
    const none = temporaryDirectory();
    const { code, stdout, stderr } = await cli([
      'table',
      one,
      two,
      link,
      none,
      '--table',
      'table-1',
      '--json',
    ]);
    expect(code).toBe(4);
    expect(stderr).toContain(`${link} is the same experiment as ${one}, so it counts once`);
    expect(stderr).toContain(none);
    expect((JSON.parse(stdout) as { tables: ScoreTable[] }).tables.map(({ base }) => base)).toEqual([
      basename(one),
      'two',
      'mean',
    ]);
    expect(await cli(['table', none, temporaryDirectory()])).toMatchObject({ code: 3 });
  }, 120_000);
});
