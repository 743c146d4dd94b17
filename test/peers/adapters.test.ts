import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { layerSwap, relayout } from '../../src/index.js';

const { LAYERLOOM_PYTHON: python = '', LAYERLOOM_ORACLE: oracle } = process.env;
const hasPeft = python !== '' && spawnSync(python, ['-c', 'import peft, transformers']).status === 0;
const script = fileURLToPath(new URL('adapters/adapters.py', import.meta.url));

const run = (args: readonly string[]): string =>
  execFileSync(python, args, {
    env: { ...process.env, HF_HUB_OFFLINE: '1', OMP_NUM_THREADS: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
    maxBuffer: 2 ** 26,
  }).toString();

interface Compared {
  readonly case: string;
  readonly adapter: string;
  readonly float32: boolean;
  readonly names: readonly string[];
  readonly equal: number;
  /** The largest difference relative to the tensor's largest element. */
  readonly largest: number;
  readonly logits: number;
}

describe.skipIf(!hasPeft)('BASE+ADAPTER and PEFT (LAYERLOOM_PYTHON with peft and transformers)', () => {
  const work = mkdtempSync(join(tmpdir(), 'layerloom-'));
  const model = (name: string, adapter: string) => `${join(work, name, 'base')}+${join(work, name, adapter)}`;
  let compared: readonly Compared[] = [];

  beforeAll(async () => {
    run([script, 'make', work]);
    for (const name of readdirSync(work))
      for (const adapter of ['a', 'b'])
        await relayout({ model: model(name, adapter) }, { out: join(work, name, `${adapter}-ours`) });
    compared = run([script, 'compare', work])
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Compared);
  }, 900_000);

  afterAll(() => rmSync(work, { recursive: true, force: true }));

  it('give the same weights, and the logits of the base with the adapter', () => {
    expect(compared).toHaveLength(20);
    for (const one of compared) {
      expect(one).toMatchObject({ names: [] });
      // In bfloat16 the sum is rounded; PEFT rounds it only when it merges.
      const holds = one.float32
        ? one.largest < 1e-6 && one.logits < 1e-5
        : one.equal >= 0.9998 && one.largest < 2 ** -7 && one.logits < 0.05;
      expect([one, holds]).toEqual([one, true]);
    }
  });

  it.skipIf(oracle === undefined)(
    'give one swap: that of the merged models, checked independently (LAYERLOOM_ORACLE)',
    async () => {
      const [name, out] = ['llama-exact', join(work, 'swapped')];
      const swap = { bottom: 2, top: 1, bottomTransition: 1, topTransition: 1 };
      await layerSwap({ task: model(name, 'a'), language: model(name, 'b'), ...swap }, { out });
      const merged = (adapter: string) => join(work, name, `${adapter}-merged`);
      const zones = ['--bottom', '2', '--top', '1', '--bottom-transition', '1', '--top-transition', '1'];
      const said = run([oracle ?? '', 'swap', '--task', merged('a'), '--lang', merged('b'), ...zones, out]);
      expect(said).toMatch(/^ok/m);
    },
    120_000,
  );
});
