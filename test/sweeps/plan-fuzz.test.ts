import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it, vi } from 'vitest';
import type { ErrorCode } from '../../src/index.js';
import { writePlans } from '../fixtures/plans.js';

// Slow disks.
vi.setConfig({ testTimeout: 180_000 });

const program = fileURLToPath(new URL('../fixtures/plan-fuzz.mjs', import.meta.url));

const contents = (folder: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => name !== 'at-hand.json' && statSync(join(folder, name)).isFile())
      .map((name) => [
        name,
        createHash('sha256')
          .update(readFileSync(join(folder, name)))
          .digest('hex'),
      ]),
  );

/** Allowed outcomes of a manipulated plan: it may fit no input, disk or memory. */
const honest: readonly string[] = [
  'done',
  'PLAN_INVALID',
  'MERGE_UNDEFINED',
  'NON_FINITE',
  'NON_FLOATING_MISMATCH',
  'INPUT_CHANGED',
  'READ_FAILED',
  'WRITE_FAILED',
  'OUTPUT_INSIDE_INPUT',
  'OUTPUT_INVALID',
  'DISK_SPACE',
  'MEMORY_NEEDED',
] satisfies (ErrorCode | 'done')[];

// LAYERLOOM_PLAN_MUTATIONS=20000 searches longer, LAYERLOOM_SEED=… repeats a search.
const runs = process.env['LAYERLOOM_PLAN_MUTATIONS'] ?? '300';
const seed = process.env['LAYERLOOM_SEED'] ?? String(Math.floor(Math.random() * 2 ** 31));

it(
  'a plan that was tampered with is refused, or gives what it says, and touches nothing else',
  async () => {
    const { root, plans } = await writePlans();
    writeFileSync(join(root, 'plans.json'), JSON.stringify(plans));
    mkdirSync(join(root, 'sentinel'));
    writeFileSync(join(root, 'sentinel', 'precious.txt'), 'precious');
    const before = contents(root);
    // In a separate process: a crash then is an error that names seed and plan.
    const run = promisify(execFile)(process.execPath, [program, root, seed, runs]);
    const { stdout } = await run.catch((cause: unknown) => {
      throw new Error(`seed ${seed}: ${readFileSync(join(root, 'at-hand.json'), 'utf8')}`, { cause });
    });
    const tally = JSON.parse(stdout) as Record<string, number>;
    console.info(`seed ${seed}: ${stdout.trim()}`);
    expect(contents(root)).toEqual(before);
    expect(Object.keys(tally).filter((outcome) => !honest.includes(outcome))).toEqual([]);
    expect(tally['PLAN_INVALID']).toBeGreaterThan(0);
    expect(tally['done']).toBeGreaterThan(0);
  },
  Math.max(300_000, Number(runs) * 1000),
);
