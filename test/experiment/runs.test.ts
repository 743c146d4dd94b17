import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import {
  evaluateExperiment,
  openCheckpoint,
  planExperiment,
  runExperiment,
  scoreTables,
  soup,
} from '../../src/index.js';
import { expandExperiment } from '../../src/study/experiment/file/expand.js';
import { readExperimentText } from '../../src/study/experiment/file/read-experiment.js';
import { temporaryDirectory } from '../fixtures/checkpoints.js';
import { standIn } from '../fixtures/evaluation-errors.js';
import { readTensors } from '../fixtures/merged.js';
import { writeRun } from '../fixtures/runs.js';
import { refusal } from './experiments.js';

vi.setConfig({ testTimeout: 180_000 });

const steps = [100, 200, 300, 400, 500, 600];

const withRun = () => {
  const root = temporaryDirectory();
  writeRun(join(root, 'run'), steps);
  const read = (...entries: string[]) =>
    readExperimentText(
      `runs: {sft: ./run}\nmerges:\n${entries.map((entry) => `  - ${entry}\n`).join('')}`,
      'runs',
      root,
    );
  return { root, read };
};

describe('windows of a run', () => {
  it('slide over its checkpoints by every schedule and length, and say where they end', async () => {
    const { read } = withRun();
    const merges = expandExperiment(
      await read('{name: windows, method: soup, run: sft, schedule: [uniform, wsm], window: [2, 5]}'),
    );
    expect(merges.map(({ name }) => name)).toEqual([
      ...['uniform-last2', 'uniform-last5', 'wsm-last2', 'wsm-last5'].flatMap((label) =>
        (label.endsWith('2') ? [200, 300, 400, 500, 600] : [500, 600]).map(
          (step) => `all/sft/windows/${label}-to${step}`,
        ),
      ),
    ]);
    expect(merges[0]).toMatchObject({
      language: 'all',
      task: 'sft',
      languageExpert: null,
      configuration: { schedule: 'uniform', window: 2, until: 200 },
    });
  });

  it('end where until says, and all begin with the first checkpoint where no window is given', async () => {
    const { read } = withRun();
    const merges = expandExperiment(
      await read('{name: some, method: soup, run: sft, schedule: ema, alpha: [0.1, 0.5], until: [300, 600]}'),
    );
    expect(merges.map(({ name }) => name)).toEqual([
      'all/sft/some/alpha-0.1-to300',
      'all/sft/some/alpha-0.1-to600',
      'all/sft/some/alpha-0.5-to300',
      'all/sft/some/alpha-0.5-to600',
    ]);
  });

  it('are compared with the single checkpoints', async () => {
    const { read, root } = withRun();
    const { furtherReferences } = await read('{name: w, method: soup, run: sft, schedule: wsm}');
    expect(furtherReferences.map(({ name, role, path }) => [name, role, path])).toEqual(
      steps.map((step) => [`sft-${step}`, 'checkpoint', join(root, `run/checkpoint-${step}`)]),
    );
  });

  it('read each checkpoint once, however many there are, and are what soup makes of each', async () => {
    const { root } = withRun();
    const { tensors } = await openCheckpoint(join(root, 'run/checkpoint-100'));
    const model = [...tensors.values()].reduce((total, { begin, end }) => total + (end - begin), 0);
    const experiment = {
      runs: { sft: './run' },
      merges: [{ name: 'w', method: 'soup', run: 'sft', schedule: ['uniform', 'wsm'], window: [1, 2, 3] }],
    } as const;
    const { cost } = await planExperiment(experiment, { directory: root });
    expect([cost.merges, cost.bytesToRead]).toEqual([2 * (6 + 5 + 4), 6 * model]);
    const out = join(root, 'out');
    expect((await runExperiment(experiment, { directory: root, out })).bytesRead).toBe(6 * model);
    for (const until of [300, 600]) {
      const alone = join(root, `alone-${until}`);
      await soup({ models: [join(root, 'run')], schedule: 'wsm', window: 3, until }, { out: alone });
      expect(await readTensors(join(out, `all/sft/w/wsm-last3-to${until}`))).toEqual(
        await readTensors(alone),
      );
    }
  });

  it('are scored in place and written alike, beside the single checkpoints', async () => {
    const { root } = withRun();
    const experiment = {
      runs: { sft: './run' },
      merges: [{ name: 'w', method: 'soup', run: 'sft', schedule: 'ema', window: 4 }],
      evaluate: { tasks: { swahili: 'mgsm_direct_sw' } },
    } as const;
    const weights = [];
    for (const write of [[], undefined]) {
      const out = join(root, write === undefined ? 'written' : 'in-place');
      const { experiment: record } = await runExperiment(experiment, { directory: root, out, write });
      weights.push(record.merges.map((merge) => merge.weights));
      const outcome = await evaluateExperiment(out, { lmEval: standIn, inPlace: write !== undefined });
      expect([outcome.failed, outcome.missing]).toEqual([[], []]);
      const { tables } = await scoreTables(out, { tables: ['windows'] });
      const table = tables.find(({ id }) => id.endsWith('/swahili'));
      expect(table?.columns.map(({ id }) => id)).toEqual(['400', '500', '600']);
      expect(table?.rows.map(({ id }) => id)).toEqual(['sft/checkpoint', 'sft/w']);
      for (const { cells } of table?.rows ?? []) expect(cells.every((cell) => cell !== null)).toBe(true);
    }
    expect(weights[0]).toEqual(weights[1]);
    expect(new Set(weights[0]).size).toBe(3);
  });

  it.each([
    ['{name: w, method: soup, run: other, schedule: wsm}', 'other: not a run of the experiment'],
    ['{name: w, method: ties, run: sft, density: 0.5}', 'run: ties cannot average checkpoints of runs'],
    ['{name: w, method: soup, run: sft, schedule: wsm, until: 250}', 'until: sft has no checkpoint-250'],
    ['{name: w, method: soup, run: sft, schedule: wsm, window: 7}', 'no run has 7 checkpoints'],
    ['{name: w, method: soup, run: sft, window: 2}', 'window: expected nothing, unless there is a schedule'],
    ['{name: w, method: soup, schedule: wsm}', 'the experiment lacks tasks'],
  ])('refuse %s', async (entry, message) => {
    const { read } = withRun();
    expect(await refusal(async () => expandExperiment(await read(entry)))).toContain(message);
  });
});
