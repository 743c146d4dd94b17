import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { batchCommand } from '../../src/cli/work/studies/batch.js';
import { LayerloomError, planExperiment, runExperiment } from '../../src/index.js';
import { llama, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';

const layers = 4;

const writeExperiment = (merges: string, more = ''): { root: string; file: string; out: string } => {
  const root = temporaryDirectory();
  for (const [seed, name] of ['base', 'math-1', 'math-2', 'swh-1'].entries())
    writeCheckpoint(join(root, name), llama({ layers, seed }));
  writeCheckpoint(join(root, 'odd'), llama({ layers: layers + 1, seed: 9 }));
  const file = join(root, 'experiment.yaml');
  writeFileSync(
    file,
    `base: ./base\ntasks: {math-1: ./math-1, math-2: ./math-2${more}}\nlanguages: {swahili: {swh-1: ./swh-1}}\nmerges:\n${merges}`,
  );
  return { root, file, out: join(root, 'out') };
};

const codeOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => 'done',
    (error: unknown) => (error instanceof LayerloomError ? error.code : error),
  );

describe('a merge that is refused when a batch is planned', () => {
  it.each<[string, string, string, Record<string, string>]>([
    [
      'for its parameters',
      '  - {name: grid, method: layer_swap, bottom: [1, 4], top: 1}\n',
      '',
      {
        'swahili/math-1+swh-1/grid/b4': 'TOO_MANY_LAYERS',
        'swahili/math-2+swh-1/grid/b4': 'TOO_MANY_LAYERS',
      },
    ],
    [
      'for its models',
      '  - {name: default, method: layer_swap, bottom: 1, top: 1}\n',
      ', odd: ./odd',
      { 'swahili/odd+swh-1/default': 'LAYER_COUNT_MISMATCH' },
    ],
    [
      'for the statistics that it needs',
      '  - {name: magnitude, method: soup, weights: magnitude}\n  - {name: back, method: revert, model: task, threshold: 0.02}\n',
      ', odd: ./odd',
      {
        'swahili/odd+swh-1/magnitude': 'LAYER_COUNT_MISMATCH',
        'all/odd/back': 'LAYER_COUNT_MISMATCH',
      },
    ],
  ])('%s, fails alone, and a dry run says so of all at once', async (_, merges, more, expected) => {
    const { file, out } = writeExperiment(merges, more);
    const { plan } = await planExperiment(file, {});
    expect(Object.fromEntries(plan.refused.map(({ merge, error }) => [merge.name, error.code]))).toEqual(
      expected,
    );
    const result = await runExperiment(file, { out });
    const failed = result.merges.filter(({ state }) => state === 'failed');
    expect(Object.fromEntries(failed.map(({ name, error }) => [name, error?.code]))).toEqual(expected);
    const names = plan.merges.map(({ merge }) => merge.name);
    expect(names.length).toBeGreaterThan(0);
    for (const name of names) expect(existsSync(join(out, name, 'layerloom.json')), name).toBe(true);
    expect(
      result.experiment.merges.filter(({ state }) => state === 'failed').map(({ name }) => name),
    ).toEqual(Object.keys(expected));
    for (const dryRun of [true, false])
      expect(await codeOf(batchCommand({ experiment: file, out: `${out}-again`, quiet: true, dryRun }))).toBe(
        'BATCH_INCOMPLETE',
      );
  });

  it('ends the batch with its own error where no other is left, before anything is written', async () => {
    const { file, out } = writeExperiment('  - {name: grid, method: layer_swap, bottom: 4, top: [1, 2]}\n');
    for (const dryRun of [true, false])
      expect(await codeOf(batchCommand({ experiment: file, out, quiet: true, dryRun }))).toBe(
        'TOO_MANY_LAYERS',
      );
    expect(existsSync(out)).toBe(false);
  });
});
