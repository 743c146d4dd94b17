import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { relayout } from '../../src/index.js';

// Mixtures of transformers, and adapters of their experts that PEFT has written.

const { LAYERLOOM_PYTHON: python = '', LAYERLOOM_PEFTS = '' } = process.env;
const hasPeft = python !== '' && spawnSync(python, ['-c', 'import peft, transformers']).status === 0;
const script = fileURLToPath(new URL('experts/mixtures.py', import.meta.url));

/** Directories with other versions of PEFT, by the version. */
const versions = LAYERLOOM_PEFTS.split(':')
  .filter((entry) => entry !== '')
  .map((entry): readonly [string, string] => [
    entry.slice(0, entry.indexOf('=')),
    entry.slice(entry.indexOf('=') + 1),
  ]);

const run = (args: readonly string[], pythonPath = ''): string =>
  execFileSync(python, [script, ...args], {
    env: { ...process.env, HF_HUB_OFFLINE: '1', OMP_NUM_THREADS: '1', PYTHONPATH: pythonPath },
    stdio: ['ignore', 'pipe', 'pipe'],
    maxBuffer: 2 ** 26,
  }).toString();

/** What mixtures.py compares of two models, each as transformers holds it. */
interface Compared {
  readonly ours: string;
  readonly names: readonly string[];
  /** The largest difference of weights, as a share of the tensor's largest element. */
  readonly largest: number;
  /** The same of logits. */
  readonly logits: number;
}

const compare = (pairs: readonly (readonly [ours: string, theirs: string])[]): readonly Compared[] =>
  run(['compare', ...pairs.flat()])
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Compared);

describe.skipIf(!hasPeft)('mixtures of experts (LAYERLOOM_PYTHON with peft and transformers)', () => {
  const work = mkdtempSync(join(tmpdir(), 'layerloom-'));
  const mixtures = () => readdirSync(work).sort();

  beforeAll(() => {
    run(['make', work]);
    for (const [version, directory] of versions) run(['make', work, version], directory);
  }, 900_000);

  afterAll(() => rmSync(work, { recursive: true, force: true }));

  it('with adapters of their experts are the models that merge_and_unload makes', async () => {
    const pairs: (readonly [string, string])[] = [];
    for (const mixture of mixtures())
      for (const adapter of readdirSync(join(work, mixture)).sort()) {
        const at = join(work, mixture, adapter);
        if (!existsSync(join(at, 'adapter_config.json'))) continue;
        for (const base of ['base', 'fused']) {
          const model = `${join(work, mixture, base)}+${at}`;
          const { out } = await relayout({ model }, { out: `${at}-over-${base}` });
          pairs.push([out, `${at}-merged`]);
        }
      }
    // 12 families by all-linear, 11 by parameters in two ways; 33 mixtures of these, in two ways, for each other version.
    expect(pairs).toHaveLength(2 * (12 + 22 + 66 * versions.length));
    for (const one of compare(pairs)) {
      const holds = one.names.length === 0 && one.largest < 1e-6 && one.logits < 1e-5;
      expect([one, holds]).toEqual([one, true]);
    }
  }, 900_000);
});
