import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runExperiment, soup } from '../../src/index.js';

const { LAYERLOOM_PYTHON: python } = process.env;

const script = fileURLToPath(new URL('runs/run.py', import.meta.url));
const py = async (...args: string[]): Promise<string> =>
  (await promisify(execFile)(python ?? '', ['-W', 'ignore', script, ...args], { maxBuffer: 2 ** 26 })).stdout;

const root = mkdtempSync(join(tmpdir(), 'layerloom-runs-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

/** As Trainer saves them: every 20 steps, and at the end. */
const steps = [20, 40, 60, 80, 100, 110];

describe.skipIf(!python)("checkpoints of transformers' Trainer (LAYERLOOM_PYTHON)", () => {
  const run = join(root, 'full/run');
  beforeAll(() => py('train', join(root, 'full')));

  interface Check {
    readonly out: string;
    readonly schedule: string;
    readonly parameter: string;
    readonly steps: readonly number[];
  }

  const stepsOf = (window: number, until: number) => {
    const end = steps.indexOf(until) + 1;
    return steps.slice(end - window, end);
  };

  const check = async (checks: readonly Check[]) => {
    const tensors: number[] = JSON.parse(await py('check', run, JSON.stringify(checks)));
    expect(tensors).toHaveLength(checks.length);
    expect(Math.min(...tensors)).toBeGreaterThan(20);
  };

  it('are averaged to the bits of NumPy by every schedule', async () => {
    const checks: Check[] = [];
    for (const [schedule, settings, parameter] of [
      ['uniform', {}, '-'],
      ['ema', { alpha: 0.3 }, '0.3'],
      ['wsm', { decay: 'linear' }, 'linear'],
      ['wsm', { decay: 'cosine' }, 'cosine'],
      ['wsm', { decay: '1-sqrt' }, '1-sqrt'],
    ] as const)
      for (const [window, until] of [
        [6, 110],
        [3, 110],
        [4, 100],
        [1, 60],
      ] as const) {
        const out = join(root, `${schedule}-${parameter}-${window}-${until}`);
        await soup({ models: [run], schedule, ...settings, window, until }, { out });
        checks.push({ out, schedule, parameter, steps: stepsOf(window, until) });
        const kept = readdirSync(out).filter((name) => /optim|sched|rng|trainer|training/.test(name));
        expect(kept).toEqual([]);
      }
    await check(checks);
  });

  it('in all windows of an experiment have these bits too', async () => {
    const out = join(root, 'windows');
    const merges = [
      { name: 'w', method: 'soup', run: 'sft', schedule: ['uniform', 'wsm'], window: [2, 3] },
    ] as const;
    await runExperiment({ runs: { sft: run }, merges }, { out });
    const checks = (['uniform', 'wsm'] as const).flatMap((schedule) =>
      [2, 3].flatMap((window) =>
        steps.slice(window - 1).map((until): Check => {
          const of = join(out, `all/sft/w/${schedule}-last${window}-to${until}`);
          return { out: of, schedule, parameter: '1-sqrt', steps: stepsOf(window, until) };
        }),
      ),
    );
    await check(checks);
  });

  it('of adapters are averaged to the mean of their changes', async () => {
    await py('train-lora', join(root, 'lora'));
    const out = join(root, 'lora-average');
    await soup({ models: [join(root, 'lora/run')], schedule: 'uniform', window: 3 }, { out });
    const { modules, error } = JSON.parse(
      await py('check-adapter', join(root, 'lora/run'), out, '80,100,110'),
    );
    expect(modules).toBe(21);
    // Concatenated factors in float32: only the scale's rounding remains.
    expect(error).toBeLessThan(1e-6);
  });
});
