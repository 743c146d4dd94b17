import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { diff, merge, relayout } from '../../src/index.js';

const { LAYERLOOM_PYTHON: python = '', LAYERLOOM_EXPERTS: experts = '' } = process.env;
const isThere =
  python !== '' &&
  spawnSync(python, ['-c', 'import transformers, compressed_tensors']).status === 0 &&
  ['base', 'math-1', 'jpn-1'].every((name) => existsSync(join(experts, name)));
const script = fileURLToPath(new URL('quantised/quantising.py', import.meta.url));

const run = <T>(...args: readonly string[]): T => {
  const printed = execFileSync(python, [script, ...args], {
    env: { ...process.env, HF_HUB_OFFLINE: '1', OMP_NUM_THREADS: '2' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  return JSON.parse(printed.toString().trim().split('\n').at(-1) ?? '') as T;
};

const [base, math, japanese] = ['base', 'math-1', 'jpn-1'].map((name) => join(experts, name)) as [
  string,
  string,
  string,
];

const recipes: readonly (readonly [string, Exclude<Parameters<typeof merge>[0], string>])[] = [
  ['a soup', { method: 'soup', models: [math, japanese], base }],
  ['a swap', { method: 'layer_swap', task: math, language: japanese, base, bottomTransition: 2 }],
  ['TIES', { method: 'ties', base, models: [math, japanese], weight: 1, density: 0.4 }],
  ['SLERP', { method: 'slerp', base: math, models: [japanese], t: 0.3 }],
];

describe.skipIf(!isThere)('outputs that are quantised (LAYERLOOM_PYTHON, LAYERLOOM_EXPERTS)', () => {
  const work = mkdtempSync(join(tmpdir(), 'layerloom-'));
  const at = (name: string) => join(work, name);
  afterAll(() => rmSync(work, { recursive: true, force: true }));

  describe.each(recipes)('%s', (_, recipe) => {
    beforeAll(async () => {
      await merge({ ...recipe, dtype: 'float32' }, { out: at('values'), force: true });
    }, 120_000);

    it.each(['fp8-block', 'int8'] as const)(
      'has in %s the codes and scales of the library',
      async (scheme) => {
        await merge({ ...recipe, quantize: scheme }, { out: at(scheme), force: true });
        const found = run<object>('codes', scheme, at(scheme), at('values'));
        expect(found).toEqual({ matrices: 210, elements: 134_515_008, unequal: 0, more: [] });
      },
      300_000,
    );
  });

  it.each(['fp8-block', 'int8'] as const)(
    'in %s are loaded by transformers, with the logits of their values',
    async (scheme) => {
      await relayout({ model: at(scheme), dtype: 'float32' }, { out: at('values'), force: true });
      const found = run<{ difference: number }>('load', at(scheme), at('values'));
      expect(found).toMatchObject({ missing: [], unexpected: [] });
      expect(found.difference).toBeLessThan(1e-6);
    },
    300_000,
  );

  it.each(['fp8-block', 'int8', 'int4', 'mxfp4', 'nvfp4'] as const)(
    'keep in %s of a change what the library’s do',
    async (scheme) => {
      writeFileSync(at('report.json'), JSON.stringify(await diff(base, math, { quantizeReport: scheme })));
      const { tensors, worst } = run<{ tensors: number; worst: number }>(
        'kept',
        scheme,
        base,
        math,
        at('report.json'),
      );
      expect(tensors).toBe(210);
      // Sums of float32 products, against those of float64.
      expect(worst).toBeLessThan(1e-6);
    },
    300_000,
  );
});
