import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RecipeInput } from '../../src/core/methods/recipes.js';
import { merge } from '../../src/index.js';

const { LAYERLOOM_PYTHON: python = '' } = process.env;
const hasPython = python !== '' && spawnSync(python, ['-c', 'import transformers']).status === 0;
const script = fileURLToPath(new URL('heads/heads.py', import.meta.url));

const run = <Line>(...args: readonly string[]): Line[] =>
  execFileSync(python, [script, ...args], {
    env: { ...process.env, HF_HUB_OFFLINE: '1', OMP_NUM_THREADS: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
    maxBuffer: 2 ** 26,
  })
    .toString()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Line);

interface Compared {
  readonly name: string;
  /** Largest differences from the merge by torch. */
  readonly weights: number;
  readonly outputs: number;
  /** Parameters that transformers misses, does not expect, or finds in another shape. */
  readonly wrong: readonly string[];
}

describe.skipIf(!hasPython)('heads and towers, and torch (LAYERLOOM_PYTHON)', () => {
  const work = mkdtempSync(join(tmpdir(), 'layerloom-'));
  let compared: readonly Compared[] = [];

  beforeAll(async () => {
    for (const { name, recipe } of run<{ name: string; recipe: RecipeInput }>('make', work))
      await merge(recipe, { out: join(work, name, 'ours') });
    compared = run<Compared>('compare', work);
  }, 600_000);

  afterAll(() => rmSync(work, { recursive: true, force: true }));

  it('give the same models, which transformers loads whole', () => {
    expect(compared.length).toBeGreaterThan(40);
    for (const { name, weights, outputs, wrong } of compared) {
      expect([name, wrong]).toEqual([name, []]);
      expect([name, weights < 1e-7, outputs < 1e-5]).toEqual([name, true, true]);
    }
  });
});
