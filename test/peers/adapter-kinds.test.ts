import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { relayout } from '../../src/index.js';

const { LAYERLOOM_PYTHON: python = '' } = process.env;
const hasPeft = python !== '' && spawnSync(python, ['-c', 'import peft, transformers']).status === 0;
const script = fileURLToPath(new URL('adapter-kinds/adapter_kinds.py', import.meta.url));

const run = (args: readonly string[]): string =>
  execFileSync(python, args, {
    env: { ...process.env, HF_HUB_OFFLINE: '1', OMP_NUM_THREADS: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
    maxBuffer: 2 ** 26,
  }).toString();

const { LAYERLOOM_KINDS_TABLE: table } = process.env;

/** The largest deviations in float32: kinds in rows, bases in columns. */
const tableOf = (compared: readonly Compared[]): string => {
  const bases = [...new Set(compared.map(({ base }) => base))];
  const ofCell = (kind: string, base: string) => {
    const found = compared.filter((one) => one.float32 && one.kind === kind && one.base === base);
    return found.length === 0 ? '' : Math.max(...found.map(({ largest }) => largest)).toExponential(1);
  };
  const rows = [...new Set(compared.map(({ kind }) => kind))].map((kind) =>
    [kind, ...bases.map((base) => ofCell(kind, base))].join(' | '),
  );
  return [['kind', ...bases].join(' | '), ['', ...bases].map(() => '---').join(' | '), ...rows]
    .map((row) => `| ${row} |\n`)
    .join('');
};

interface Compared {
  readonly case: string;
  readonly kind: string;
  readonly base: string;
  readonly float32: boolean;
  readonly names: readonly string[];
  /** Tensors that PEFT's merge changed. */
  readonly changed: number;
  readonly equal: number;
  /** The largest difference relative to the tensor's largest element. */
  readonly largest: number;
}

describe.skipIf(!hasPeft)('BASE+ADAPTER of each kind and PEFT (LAYERLOOM_PYTHON with peft)', () => {
  const root = mkdtempSync(join(tmpdir(), 'layerloom-'));
  const [work, others] = [join(root, 'merged'), join(root, 'refused')];
  let compared: readonly Compared[] = [];

  beforeAll(async () => {
    run([script, 'make', work]);
    run([script, 'refused', others]);
    for (const name of readdirSync(work)) {
      const at = join(work, name);
      await relayout({ model: `${join(at, 'base')}+${join(at, 'adapter')}` }, { out: join(at, 'ours') });
    }
    compared = run([script, 'compare', work])
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Compared);
  }, 900_000);

  afterAll(() => rmSync(root, { recursive: true, force: true }));

  it('give the same weights', () => {
    expect(compared.length).toBeGreaterThan(100);
    for (const one of compared) {
      // In bfloat16 a sum near the middle of two numbers may be rounded to either.
      const holds = one.float32 ? one.largest < 1e-6 : one.equal >= 0.9998 && one.largest < 2 ** -7;
      expect(one).toMatchObject({ names: [] });
      expect([one, holds && one.changed > 0]).toEqual([one, true]);
    }
    if (table !== undefined) writeFileSync(table, tableOf(compared));
  });

  it('are refused with a reason where their merge is not computed', async () => {
    const cases = readdirSync(others);
    expect(cases.length).toBe(4);
    for (const name of cases) {
      const at = join(others, name);
      const model = `${join(at, 'base')}+${join(at, 'adapter')}`;
      await expect(relayout({ model }, { out: join(at, 'ours') }), name).rejects.toMatchObject({
        code: 'ADAPTER_UNSUPPORTED',
      });
    }
  });
});
