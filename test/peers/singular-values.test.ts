import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { merge, type RecipeInput } from '../../src/index.js';

const { LAYERLOOM_FUSION_BENCH_PYTHON: peer = '', LAYERLOOM_EXPERTS: experts = '' } = process.env;

const script = fileURLToPath(new URL('singular-values/singular_values.py', import.meta.url));

const run = (...args: readonly string[]): string =>
  execFileSync(peer, ['-W', 'ignore', script, ...args], {
    env: { ...process.env, OMP_NUM_THREADS: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
  }).toString();

const root = mkdtempSync(join(tmpdir(), 'layerloom-singular-values-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

interface Found {
  readonly matrices: number;
  readonly others: number;
  /** Differences relative to a matrix's largest change, and to the largest weight. */
  readonly ofChange: number;
  readonly ofWeight: number;
}

type Method = readonly [method: 'iso_c' | 'tsv_m', factor: 'lambda' | 'alpha', most: number];

/** Methods, the parameter that scales them, and the allowed difference for real experts. */
const methods: readonly Method[] = [
  // A singular value is 2e-8 of the largest.
  ['iso_c', 'lambda', 1e-5],
  ['tsv_m', 'alpha', 1e-6],
];

const compare = async (
  [method, factor]: Method,
  base: string,
  models: readonly string[],
  scale: number,
): Promise<Found> => {
  const out = join(root, `out-${method}-${models.length}`);
  const recipe = { method, base, models, [factor]: scale, dtype: 'float64' } as RecipeInput;
  await merge(recipe, { out, layout: 'size' });
  return JSON.parse(run('merge', JSON.stringify({ method, base, models, scale, out })));
};

describe.skipIf(peer === '').each(methods)(
  '%s by fusion-bench, in float64 (LAYERLOOM_FUSION_BENCH_PYTHON)',
  (...method) => {
    it.each([
      [2, 1],
      [3, 0.5],
    ])('is the same of %i random models, by %d', async (count, scale) => {
      run('models', root);
      const models = ['a', 'b', 'c'].slice(0, count).map((name) => join(root, name));
      const found = await compare(method, join(root, 'base'), models, scale);
      expect(found).toMatchObject({ matrices: 7, others: 4 });
      expect(found.ofChange).toBeLessThan(1e-7);
    });

    it.skipIf(experts === '')(
      'is the same of real experts (LAYERLOOM_EXPERTS)',
      async () => {
        const models = ['math-1', 'jpn-1'].map((name) => join(experts, name));
        const found = await compare(method, join(experts, 'base'), models, 1);
        expect(found).toMatchObject({ matrices: 210 });
        expect(found.ofChange).toBeLessThan(method[2]);
        expect(found.ofWeight).toBeLessThan(1e-7);
      },
      1_200_000,
    );
  },
);
