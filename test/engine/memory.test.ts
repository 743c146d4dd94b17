import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { fitThreads, mostThreads } from '../../src/core/engine/threads/fit-threads.js';
import { memoryLimit, usableMemory } from '../../src/core/engine/threads/memory.js';
import { memoryOf, memoryWith } from '../../src/core/plan/reports/memory.js';
import { merge, planMerge, verify } from '../../src/index.js';
import { writeFamily } from '../fixtures/family.js';

// Merges that hold whole matrices in memory, on machines with little memory.

afterEach(() => void vi.restoreAllMocks());

const limit = (bytes: number) => vi.spyOn(process, 'constrainedMemory').mockReturnValue(bytes);

const need = { ofThread: 9e9, matrix: { tensor: 'w', lighter: 'iso_c' } };

describe('the threads of a merge', () => {
  it('are as many as there is memory for, and those that were asked for where there is', () => {
    expect(fitThreads(need, 2, { most: 24e9, now: 20e9 })).toEqual({ threads: 2 });
    expect(fitThreads(need, 8, { most: 24e9, now: 20e9 })).toEqual({
      threads: 2,
      warning: '2 of 8 threads are used: each takes 9.00 GB for w, and 20.0 GB of memory are free',
    });
    expect(mostThreads({ ofThread: 9e6 }, 64, { most: 1e9, now: 1e9 })).toBe(64);
  });

  it('are one where others have the memory now, with a warning', () => {
    expect(fitThreads(need, 8, { most: 24e9, now: 2e9 })).toEqual({
      threads: 1,
      warning: expect.stringMatching(/^w needs 9\.03 GB of memory, and 2\.00 GB of memory are free/),
    });
  });

  it('are none where the machine has no memory for one', () => {
    expect(() => fitThreads(need, 8, { most: 8e9, now: 8e9 })).toThrow(
      expect.objectContaining({
        code: 'MEMORY_NEEDED',
        message:
          'w needs 9.03 GB of memory, also with one thread, and this machine or its cgroup has 8.00 GB; use iso_c, or another machine',
      }),
    );
  });

  it('are never refused where they keep tiles alone', () => {
    expect(fitThreads({ ofThread: 9e6 }, 4, { most: 30e6, now: 1e6 })).toEqual({ threads: 1 });
  });
});

describe('a machine', () => {
  it('has no more memory now than in all', () => {
    const { most, now } = usableMemory();
    expect(now).toBeGreaterThan(0);
    expect(now).toBeLessThanOrEqual(most);
    expect(memoryLimit() ?? most).toBe(most);
  });

  it('has no more than its cgroup allows', () => {
    limit(1e9);
    expect(memoryLimit()).toBeLessThanOrEqual(1e9);
    expect(usableMemory().most).toBeLessThanOrEqual(1e9);
    // Node's value for no limit, by the version of cgroups.
    for (const none of [0, 2 ** 63]) {
      limit(none);
      expect(usableMemory().most).toBeGreaterThan(1e9);
    }
  });
});

const family = () => {
  const { root, base, a, b } = writeFamily();
  const recipe = { method: 'tsv_m' as const, base, models: [a, b] };
  return { root, out: join(root, 'out'), recipe };
};

describe('a merge', () => {
  it('takes fewer threads where memory is short, says so, and writes what four would', async () => {
    const { out, recipe } = family();
    const { shards } = await planMerge(recipe);
    const found = memoryOf(shards.flatMap(({ tensors }) => tensors));
    limit(memoryWith(found, 2));
    const { threads, warnings } = await merge(recipe, { out, threads: 4 });
    expect(threads).toBe(2);
    expect(warnings).toEqual([expect.stringMatching(/^2 of 4 threads are used: each takes .* for model\./)]);
    expect(await verify(out, { againstInputs: true, threads: 4 })).toMatchObject({
      intact: true,
      threads: 2,
      warnings,
    });
    vi.restoreAllMocks();
    expect(await verify(out, { againstInputs: true, threads: 4 })).toMatchObject({
      intact: true,
      threads: 4,
      warnings: [],
    });
  });

  it('is refused before anything is written where there is no memory for one thread', async () => {
    const { root, out, recipe } = family();
    limit(30e6);
    const before = readdirSync(root);
    await expect(merge(recipe, { out, threads: 4 })).rejects.toMatchObject({
      code: 'MEMORY_NEEDED',
      exitCode: 1,
      message: expect.stringMatching(/^model\..* needs 3\d\.\d MB of memory, .* has 30\.0 MB; use iso_c/),
    });
    expect(existsSync(out)).toBe(false);
    expect(readdirSync(root)).toEqual(before);
    // Another method needs no more than tiles.
    await merge({ ...recipe, method: 'model_stock' }, { out });
  });
});
