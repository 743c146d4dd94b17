import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { merge } from '../../src/index.js';

const { LAYERLOOM_FUSION_BENCH_PYTHON: peer = '', LAYERLOOM_EXPERTS: experts = '' } = process.env;

const script = fileURLToPath(new URL('iso-c/iso_c.py', import.meta.url));

const run = (...args: readonly string[]): string =>
  execFileSync(peer, ['-W', 'ignore', script, ...args], {
    env: { ...process.env, OMP_NUM_THREADS: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
  }).toString();

const root = mkdtempSync(join(tmpdir(), 'layerloom-iso-c-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

interface Found {
  readonly matrices: number;
  readonly others: number;
  /** Differences, relative to the largest change of a matrix, and to the largest weight. */
  readonly ofChange: number;
  readonly ofWeight: number;
}

const compare = async (base: string, models: readonly string[], lambda: number): Promise<Found> => {
  const out = join(root, `out-${models.length}-${lambda}`);
  await merge({ method: 'iso_c', base, models, lambda, dtype: 'float64' }, { out, layout: 'size' });
  return JSON.parse(run('merge', JSON.stringify({ base, models, lambda, out })));
};

describe.skipIf(peer === '')('Iso-C by fusion-bench, in float64 (LAYERLOOM_FUSION_BENCH_PYTHON)', () => {
  it.each([
    [2, 1],
    [3, 0.5],
  ])('is the same of %i random models, by %d', async (count, lambda) => {
    run('models', root);
    const models = ['a', 'b', 'c'].slice(0, count).map((name) => join(root, name));
    const found = await compare(join(root, 'base'), models, lambda);
    expect(found).toMatchObject({ matrices: 7, others: 4 });
    expect(found.ofChange).toBeLessThan(1e-7);
  });

  it.skipIf(experts === '')(
    'is the same of real experts (LAYERLOOM_EXPERTS)',
    async () => {
      const models = ['math-1', 'jpn-1'].map((name) => join(experts, name));
      const found = await compare(join(experts, 'base'), models, 1);
      expect(found).toMatchObject({ matrices: 210 });
      // A singular value of 2e-8 of the largest is in one of them.
      expect(found.ofChange).toBeLessThan(1e-5);
      expect(found.ofWeight).toBeLessThan(1e-7);
    },
    1_200_000,
  );
});
