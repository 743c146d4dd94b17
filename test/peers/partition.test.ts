import { execFile, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { adaptedBy, type Partition, sides, trainedBy } from '../../src/core/measure/partition/partition.js';
import { analyze, partition } from '../../src/index.js';
import { temporaryDirectory } from '../fixtures/checkpoints.js';

const { LAYERLOOM_PYTHON: python } = process.env;
const hasPeft = python !== undefined && spawnSync(python, ['-c', 'import peft, accelerate']).status === 0;

const run = async (...args: string[]): Promise<string> => {
  const script = fileURLToPath(new URL('partition.py', import.meta.url));
  const env = { ...process.env, HF_HUB_OFFLINE: '1', OMP_NUM_THREADS: '1' };
  return (await promisify(execFile)(python ?? '', [script, ...args], { env, maxBuffer: 2 ** 26 })).stdout;
};

interface Found {
  readonly trained: readonly string[];
  /** Names with gradients; names that a step moved; names that a step of transformers' Trainer moved. */
  readonly grads: readonly string[];
  readonly stepped: readonly string[];
  readonly trainer: readonly string[];
  readonly modules: readonly string[];
}

const expectExact = async (base: string, parts: string, of: Partition): Promise<void> => {
  const lines = (await run('check', base, parts)).trim().split('\n');
  const found = JSON.parse(lines.at(-1) ?? '') as Record<'language' | 'task', Found> & { refusal: string };
  for (const side of sides) {
    const trained = [...trainedBy(of, side)].sort();
    expect(trained.length).toBeGreaterThan(0);
    const { modules, ...trains } = found[side];
    expect(trains).toEqual({ trained, grads: trained, stepped: trained, trainer: trained });
    expect(modules).toEqual([...adaptedBy(of, side)].sort());
  }
  expect(found.refusal).toContain('this partition is of another model');
};

describe.skipIf(!hasPeft)('partitions in transformers and PEFT (LAYERLOOM_PYTHON)', () => {
  it.each(['llama', 'qwen2', 'gpt2'])(
    '%s: trains and adapts the part of a side, and nothing else',
    async (family) => {
      const root = temporaryDirectory();
      await run('make', root, family);
      const base = join(root, 'base');
      const parts = join(root, 'parts');
      const byLocation = await partition(base, { bottom: 2, top: 1 }, { out: parts });
      await expectExact(base, parts, byLocation.partition);
      const from = join(root, 'analysis');
      await analyze({ base, experts: [join(root, 'swh'), join(root, 'math')] }, { out: from });
      const changes = join(root, 'changes');
      const byChange = await partition(base, { from, language: 'swh', task: 'math' }, { out: changes });
      await expectExact(base, changes, byChange.partition);
    },
  );
});
