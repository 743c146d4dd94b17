import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { methods } from '../../src/index.js';
import {
  abortOften,
  modelsIn,
  type Operation,
  oddEnds,
  operationsOver,
  writeModels,
} from '../fixtures/aborts.js';

// Aborts each operation at random moments, `LAYERLOOM_ABORTS` times (100), in processes of at most 100
// aborts.
// `LAYERLOOM_ABORTED=ties,della` limits the operations; `LAYERLOOM_SEED` repeats the moments of an earlier
// run.

const times = Number(process.env['LAYERLOOM_ABORTS'] ?? 100);
const seed = Number(process.env['LAYERLOOM_SEED'] ?? Date.now() % 2 ** 31);
const only = process.env['LAYERLOOM_ABORTED']?.split(',');
const perProcess = 100;

describe(`aborted at random moments (seed ${seed})`, () => {
  const root = mkdtempSync(join(tmpdir(), 'layerloom-'));
  const operations = operationsOver(modelsIn(root));
  beforeAll(() => writeModels(modelsIn(root), 6, 2));
  afterAll(() => rmSync(root, { recursive: true }));
  const names = Object.keys(operations).filter((name) => only === undefined || only.includes(name));

  it('is every method', () => {
    const covered = Object.values(operations).flatMap((operation) =>
      operation.kind === 'merge' ? [(operation.recipe as { method: string }).method] : [],
    );
    expect([...methods.keys()].filter((method) => !covered.includes(method))).toEqual([]);
  });

  it.each(names)('%s ends whole or interrupted, and leaves nothing', async (name) => {
    const operation = { [name]: operations[name] as Operation };
    const tally: Record<string, number> = {};
    for (let begun = 0; begun < times; begun += perProcess) {
      const some = Math.min(perProcess, times - begun);
      const { code, signal, stderr, aborted } = await abortOften(operation, some, seed + begun);
      expect({ code, signal, stderr, odd: oddEnds(aborted), left: aborted.left }).toEqual({
        code: 0,
        signal: null,
        stderr: '',
        odd: [],
        left: [],
      });
      for (const [how, count] of Object.entries(aborted.ended[name] ?? {}))
        tally[how] = (tally[how] ?? 0) + count;
    }
    console.log(name, tally);
  });
});
