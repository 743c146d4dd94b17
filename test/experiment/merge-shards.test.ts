import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { itemAt } from '../../src/core/base/errors/lookup.js';
import type { BatchMerge } from '../../src/study/batch/planning/batch-merge.js';
import { planBatch } from '../../src/study/batch/planning/batch-plan.js';
import { llama, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';

const experts = (layers = 6) => {
  const root = temporaryDirectory();
  const write = (name: string, seed: number) => writeCheckpoint(join(root, name), llama({ layers, seed }));
  return { root, task: write('math', 1), language: write('swh', 2), other: write('jpn', 3) };
};

describe('shards of many merges', () => {
  it('are one object where merges of the same models share them', async () => {
    const { task, language } = experts();
    const merges = [1, 2].map(
      (bottom): BatchMerge => ({
        name: `b${bottom}`,
        recipe: { method: 'layer_swap', task, language, bottom, top: 1 },
      }),
    );
    const [one, two] = (await planBatch(merges, {})).merges.map(({ shards }) => shards);
    const same = one?.map((shard, index) => shard === two?.[index]);
    expect(same).toEqual(one?.map((_, index) => index !== 2));
  });

  it('are those of each merge planned alone', async () => {
    const { task, language, other } = experts();
    const merges = [task, other].flatMap((expert) =>
      [0.25, 0.5, 0.25].flatMap((weight, index): BatchMerge[] => [
        {
          name: `swap-${expert}-${index}`,
          recipe: {
            method: 'layer_swap',
            task: expert,
            language,
            bottom: 1,
            top: 1,
            bottomTransition: index,
            weights: [weight, 1],
          },
        },
        { name: `soup-${expert}-${index}`, recipe: { method: 'soup', models: [expert, language] } },
        {
          name: `float-${expert}-${index}`,
          recipe: { method: 'soup', models: [expert, language], dtype: 'float32' },
        },
      ]),
    );
    const together = await planBatch(merges, {});
    for (const [index, merge] of merges.entries()) {
      const alone = await planBatch([merge], {});
      expect(itemAt(together.merges, index).shards).toEqual(itemAt(alone.merges, 0).shards);
    }
  });
});

describe('many merges in one process', () => {
  it('leave neither memory nor handles nor listeners behind', { timeout: 120_000 }, () => {
    const { root, task, language } = experts(24);
    const loop = fileURLToPath(new URL('../fixtures/merge-loop.mjs', import.meta.url));
    const output = execFileSync(
      process.execPath,
      ['--expose-gc', loop, '24', task, language, join(root, 'out')],
      { encoding: 'utf8' },
    );
    const samples = JSON.parse(output) as { heap: number; resources: string[]; listeners: number }[];
    const [warm, last] = [itemAt(samples, 11), itemAt(samples, 23)];
    expect(last.listeners).toBe(0);
    expect(last.resources.length).toBeLessThanOrEqual(warm.resources.length);
    // A plan of such a merge takes some 100 KB; later V8 compiles ever less code.
    expect(last.heap - warm.heap).toBeLessThan(12 * 60_000);
  });
});
