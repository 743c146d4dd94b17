import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { planBatch } from '../../src/study/batch/planning/batch-plan.js';
import { stagesOf } from '../../src/study/batch/planning/stages.js';
import { expandExperiment } from '../../src/study/experiment/file/expand.js';
import { readExperiment } from '../../src/study/experiment/file/read-experiment.js';
import { planExperiment } from '../../src/study/experiment/plan-experiment.js';
import { runExperiment } from '../../src/study/experiment/run-experiment.js';
import { contentsOf, writeExperiment } from '../fixtures/experiment.js';

vi.setConfig({ testTimeout: 120_000 });

const swap = 'method: layer_swap, bottom: 2, top: 1';

const stagesIn = async (merges: string, first?: readonly string[]) => {
  const { file } = writeExperiment(merges);
  const { stages } = await planExperiment(file, { first });
  return stages.map((stage) => [
    [...new Set(stage.merges.map(({ merge }) => merge.entryName))].join(),
    stage.merges.length,
  ]);
};

describe('the stages of a batch', () => {
  it('are the entries of copied layers and shared averages in the order of the file, then the others together', async () => {
    expect(
      await stagesIn(`
  - {name: soup, method: soup}
  - {name: default, ${swap}}
  - {name: ties, method: ties, density: 0.2}
  - {name: wider, method: layer_swap, bottom: 3, top: 1, bottom_transition: 1}
  - {name: kept, method: revert, model: task, bottom: 1, top: 1}
`),
    ).toEqual([
      ['default', 4],
      ['wider', 4],
      ['kept', 2],
      ['soup,ties', 8],
    ]);
  });

  it('count a grid of averages as shared, and one merge of as many as its own', async () => {
    const averaged = 'method: layer_swap, bottom: 1, top: 1, bottom_transition: 2, top_transition: 2';
    expect(await stagesIn(`  - {name: one, ${averaged}}\n  - {name: default, ${swap}}`)).toEqual([
      ['default', 4],
      ['one', 4],
    ]);
    expect(
      await stagesIn(`  - {name: soup, method: soup, weights: [[1, 3]]}
  - {name: many, ${averaged.replace('bottom: 1', 'bottom: [0, 1]').replace('top: 1', 'top: [0, 1]')}}`),
    ).toEqual([
      ['many', 16],
      ['soup', 4],
    ]);
  });

  it('count merges that need no further shards with the stage before', async () => {
    expect(
      await stagesIn(
        `  - {name: default, ${swap}}\n  - {name: same, ${swap}}\n  - {name: soup, method: soup}`,
      ),
    ).toEqual([
      ['default,same', 8],
      ['soup', 4],
    ]);
  });

  it('begin with the merges that patterns name, in their order, each merge once', async () => {
    const merges = `  - {name: default, ${swap}}\n  - {name: soup, method: soup}`;
    expect(await stagesIn(merges, ['*/math-2+*/soup', '*/soup'])).toEqual([
      ['soup', 2],
      ['soup', 2],
      ['default', 4],
    ]);
    const { file } = writeExperiment(merges);
    await expect(planExperiment(file, { first: ['*/soop'] })).rejects.toThrow(
      /such as swahili\/math-1\+swh-1\/default, got "\*\/soop"/,
    );
  });

  it('make each shard once, whatever their order, and count what is read again', async () => {
    const merges = `  - {name: default, ${swap}}\n  - {name: soup, method: soup}`;
    const { file } = writeExperiment(merges);
    const plan = await planBatch(expandExperiment(await readExperiment(file)), {});
    for (const first of [[], ['*/soup'], ['*/math-1+swh-1/*', '*/math-2*']]) {
      const keys = stagesOf(plan, () => true, first).flatMap(({ groups }) =>
        groups.flatMap(({ shards }) => shards.map(({ key }) => key)),
      );
      expect(keys.sort()).toEqual([...plan.shards.keys()].sort());
    }
    const some = [...plan.shards.keys()].slice(0, 3);
    const made = stagesOf(plan, (key) => some.includes(key)).flatMap(({ groups }) => groups);
    expect(made.flatMap(({ shards }) => shards.map(({ key }) => key)).sort()).toEqual(some.sort());

    const { cost } = await planExperiment(file, {});
    const together = await planExperiment(writeExperiment(`  - {name: soup, method: soup}`).file, {});
    // The soups read the four experts whole, after the swaps have read their parts.
    expect(cost.bytesToRead - cost.bytesReadAgain).toBe(together.cost.bytesToRead);
    expect(cost.bytesReadAgain).toBeGreaterThan(0);
  });
});

describe('a batch in stages', () => {
  it('has the merges of a stage in place before anything of the next is in the store', async () => {
    const fixture = writeExperiment(`  - {name: soup, method: soup}\n  - {name: default, ${swap}}`);
    const { stages } = await planExperiment(fixture.file, {});
    const own = stages[0]?.groups.reduce((total, { shards }) => total + shards.length, 0);
    const shards = () =>
      readdirSync(join(fixture.out, '.store', 'shards'), { recursive: true }).filter((name) =>
        String(name).endsWith('.safetensors'),
      ).length;
    const seen: number[] = [];
    const result = await runExperiment(fixture.file, {
      out: fixture.out,
      onMerge: ({ name }) => {
        if (name.endsWith('/default')) seen.push(shards());
      },
    });
    // A merge is in place once its own shards are written, even while others of its stage are not.
    expect(seen).toHaveLength(4);
    expect(Math.max(...seen)).toBe(own);
    expect(seen.at(-1)).toBe(own);
    expect(result.bytesRead).toBe(result.cost.bytesToRead);
    expect(result.merges.reduce((total, { bytesRead }) => total + bytesRead, 0)).toBe(result.bytesRead);
  });

  it('has the same bytes in every order', async () => {
    const merges = `  - {name: default, ${swap}}\n  - {name: soup, method: soup}\n  - {name: ties, method: ties, density: 0.5}`;
    const made = [];
    const fixture = writeExperiment(merges);
    for (const first of [undefined, ['*/ties'], ['*/math-2+swh-1/*', '*/soup']]) {
      const out = join(fixture.root, `out-${made.length}`);
      await runExperiment(fixture.file, { out, first });
      expect(existsSync(join(out, 'swahili/math-1+swh-1/default/layerloom.json'))).toBe(true);
      made.push(contentsOf(out, (path) => path.endsWith('.safetensors')));
    }
    expect(made[1]).toEqual(made[0]);
    expect(made[2]).toEqual(made[0]);
  });
});
