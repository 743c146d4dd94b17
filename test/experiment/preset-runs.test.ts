import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import {
  evaluateExperiment,
  partition,
  planEvaluation,
  planExperiment,
  runExperiment,
  scoreTables,
  writeReport,
} from '../../src/index.js';
import { type PresetName, presetNames } from '../../src/study/paper/experiment.js';
import { llama, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';
import { cli } from '../fixtures/cli.js';
import { writeMbpp, writeMgsm } from '../fixtures/evaluation-data.js';
import { stubHarness } from '../fixtures/evaluation-errors.js';

vi.setConfig({ testTimeout: 600_000 });

// Runs every preset of `experiment init`, and benchmarks of local data, from file to report, with a reader's
// commands, small models and random answers.

const lmEval = stubHarness;

const place = () => {
  const root = temporaryDirectory();
  const at = (...names: string[]) => join(root, ...names);
  for (const [index, name] of ['base', 'math', 'swh', 'math-frozen', 'swh-frozen'].entries())
    writeCheckpoint(at(name), llama({ layers: 24, hidden: 8, seed: index + 1 }));
  const data = at('data');
  for (const write of [writeMgsm, writeMbpp]) write(data);
  return { root, at, data };
};

const init = async (out: string, words: readonly string[]): Promise<string> => {
  const { code, stdout, stderr } = await cli(['experiment', 'init', ...words, '-o', out]);
  expect({ code, stderr }).toMatchObject({ code: 0 });
  expect(stdout).toContain(out);
  return readFileSync(out, 'utf8');
};

const walk = async (file: string, only?: readonly string[]) => {
  const out = join(dirname(file), 'study');
  const planned = await planExperiment(file, { out });
  expect(planned.plan.refused).toEqual([]);
  const { experiment, merges } = await runExperiment(file, { out });
  expect(merges.filter(({ error }) => error !== undefined)).toEqual([]);
  expect(experiment.state).toBe('done');
  const { failed, scored } = await evaluateExperiment(out, { lmEval, only });
  expect(failed).toEqual([]);
  expect(scored).not.toEqual([]);
  const again = await planExperiment(file, { out, resume: true });
  expect([
    again.cost.bytesToWrite,
    again.cost.bytesToRead,
    again.cost.bytesToMeasure,
    again.disk.needed,
  ]).toEqual([0, 0, 0, 0]);
  expect((await planEvaluation(out, { lmEval, only })).models).toEqual([]);
  const { tables } = await scoreTables(out);
  const report = await writeReport(out, { out: join(dirname(file), 'study.html') });
  expect(readFileSync(report.out, 'utf8')).toContain('<html');
  return tables.map(({ id }) => id);
};

const someOf: Partial<Record<PresetName, readonly string[]>> = {
  paper: ['base', 'math', 'swh', '*/default', '*/soup/*', '*/grid/b3-u0-tb0-tu?-uniform', '*/location'],
  grid: ['base', 'math', 'swh', '*/grid/b3-u0-*'],
};

describe('a preset', () => {
  it.each(presetNames)('%s is run to its tables', async (preset) => {
    const { at, data } = place();
    const models =
      preset === 'modular'
        ? [
            '--task',
            at('math'),
            at('math-frozen'),
            '--lang',
            `swahili:${at('swh')}`,
            `swahili:${at('swh-frozen')}`,
          ]
        : ['--task', at('math'), '--lang', `swahili:${at('swh')}`];
    const file = at(`${preset}.yaml`);
    const what = ['--benchmarks', 'mgsm,perplexity', '--data', data, '--problems', '0-2'];
    const text = await init(file, ['--preset', preset, '--base', at('base'), ...models, ...what]);
    expect(text).toContain('problems: 0-2');
    if (preset === 'modular') await partition(at('base'), {}, { out: at('parts', 'partition.json') });
    const tables = await walk(file, someOf[preset]);
    expect(tables).not.toEqual([]);
  });

  it('reasoning takes layers 13 to 22, and votes over ten answers in their boxes', async () => {
    const { at, data } = place();
    const file = at('reasoning.yaml');
    await init(file, [
      ...[
        '--preset',
        'reasoning',
        '--base',
        at('base'),
        '--task',
        at('math'),
        '--lang',
        `swahili:${at('swh')}`,
      ],
      ...['--benchmarks', 'mgsm,aime25', '--data', data, '--problems', '0-2'],
    ]);
    expect(await walk(file)).toContain('samples');
    const { completeRecipe, origins } = JSON.parse(
      readFileSync(at('study', 'swahili', 'math+swh', 'middle', 'layerloom.json'), 'utf8'),
    );
    expect(completeRecipe.parts[0]).toEqual({ model: 'task', layers: '13-22' });
    expect(origins).toContainEqual({ layers: [13, 22], from: ['math'] });
    const [table] = (await scoreTables(at('study'), { tables: ['samples'] })).tables;
    const of = (row: { cells: readonly unknown[] }, id: string) =>
      (row.cells[table?.columns.findIndex((column) => column.id === id) ?? -1] as { value: number } | null)
        ?.value;
    const rows = table?.rows.filter(({ cells }) => JSON.stringify(cells[0]).includes('aime25')) ?? [];
    expect(rows).toHaveLength(5);
    const experiment = JSON.parse(readFileSync(at('study', 'experiment.json'), 'utf8'));
    for (const row of rows) {
      const model = [...experiment.references, ...experiment.merges].find((one) => row.label === one.name);
      expect(model).toBeDefined();
      const samples: string[] = model.scores.aime25.samples;
      expect(samples).toHaveLength(10);
      // A problem's most frequent number is its row or 999, whatever the text around it.
      const right = [0, 1, 2].map(
        (problem) =>
          samples.filter(
            (path) =>
              JSON.parse(readFileSync(at('study', path.replace('.json', '.problems.json')), 'utf8'))[problem]
                .scores['exact_match,none'] === 1,
          ).length,
      );
      const votes = right.map((count): number => (count > 5 ? 1 : count === 5 ? 0.5 : 0));
      expect(of(row, 'maj')).toBeCloseTo((100 * votes.reduce((a, b) => a + b)) / 3, 9);
      expect(of(row, 'avg')).toBeCloseTo((100 * right.reduce((a, b) => a + b)) / 30, 9);
    }
  });

  it('modular says how its partition is made where there is none', async () => {
    const { at } = place();
    const file = at('modular.yaml');
    await init(file, [
      ...['--preset', 'modular', '--base', at('base')],
      ...['--task', at('math'), '--lang', `swahili:${at('swh')}`],
    ]);
    await expect(runExperiment(file, { out: at('study') })).rejects.toMatchObject({
      code: 'READ_FAILED',
      message: expect.stringContaining('parts/partition.json'),
    });
    mkdirSync(at('parts'));
    writeFileSync(at('parts', 'partition.json'), '{}');
    await expect(planExperiment(file, { out: at('study') })).rejects.toMatchObject({
      code: 'PARTITION_INVALID',
    });
  });
});

describe('a benchmark', () => {
  it.each(['mgsm', 'mbpp', 'perplexity'])('%s is measured to its tables', async (name) => {
    const { at, data } = place();
    const file = at('smoke.yaml');
    await init(file, [
      ...['--preset', 'smoke', '--base', at('base'), '--task', at('math'), '--lang', `swahili:${at('swh')}`],
      ...['--benchmarks', name, '--data', data],
    ]);
    writeFileSync(
      file,
      readFileSync(file, 'utf8').replace('# confirm_run_unsafe_code', 'confirm_run_unsafe_code'),
    );
    expect(await walk(file)).not.toEqual([]);
  });
});
