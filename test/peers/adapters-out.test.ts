import { execFileSync, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { layerSwap, merge, type RecipeInput, revert, soup } from '../../src/index.js';
import { temporaryDirectory } from '../fixtures/checkpoints.js';

// Merges adapters from real PEFT to adapters, and loads these in real PEFT: logits equal those of the same
// merge of full weights.

const { LAYERLOOM_PYTHON: python = '' } = process.env;
const hasPeft = python !== '' && spawnSync(python, ['-c', 'import peft, transformers']).status === 0;
const script = fileURLToPath(new URL('adapters_out.py', import.meta.url));

const run = (args: readonly string[], input = '') =>
  JSON.parse(
    execFileSync(python, [script, ...args], {
      input,
      env: { ...process.env, HF_HUB_OFFLINE: '1', OMP_NUM_THREADS: '1' },
      stdio: ['pipe', 'pipe', 'ignore'],
    }).toString(),
  );

const merges: Record<
  string,
  (task: string, language: string, base: string, out: string) => Promise<unknown>
> = {
  swap: (task, language, _base, out) =>
    layerSwap({ task, language, bottom: 2, top: 1, bottomTransition: 2, topTransition: 1 }, { out }),
  'weighted swap': (task, language, _base, out) =>
    layerSwap({ task, language, weights: [2, 1], bottomTransition: 1, bottom: 1, top: 1 }, { out }),
  soup: (task, language, _base, out) => soup({ models: [task, language], weights: [1, 2] }, { out }),
  revert: (task, _language, base, out) => revert({ model: task, base, bottom: 2, top: 2 }, { out }),
  'task arithmetic': (task, language, base, out) =>
    merge({ method: 'task_arithmetic', base, models: [task, language], weights: [0.7, 0.6] } as RecipeInput, {
      out,
    }),
};

describe.skipIf(!hasPeft)('a merged adapter in PEFT (LAYERLOOM_PYTHON with peft and transformers)', () => {
  it('equals the merge of full weights', async () => {
    const root = temporaryDirectory();
    const cases = run(['make', root]) as readonly string[];
    const lines: string[] = [];
    const names: string[] = [];
    for (const name of cases)
      for (const [method, merged] of Object.entries(merges)) {
        const [base, task, language] = ['base', 'task', 'lang'].map((one) => join(root, name, one)) as [
          string,
          string,
          string,
        ];
        const [adapter, full] = [join(root, name, `${method}-adapter`), join(root, name, `${method}-full`)];
        await merged(task, language, base, adapter);
        await merged(`${base}+${task}`, `${base}+${language}`, base, full);
        lines.push([base, adapter, full].join('\t'));
        names.push(`${name}, ${method}`);
      }
    const results = run(['compare'], lines.join('\n'));
    for (const [index, name] of names.entries()) {
      const { difference, moved, warnings } = results[index];
      expect(moved, name).toBeGreaterThan(1e-2);
      expect(difference, name).toBeLessThan(2e-5 * Math.max(1, moved));
      expect(warnings, name).toEqual([]);
    }
  });
});
