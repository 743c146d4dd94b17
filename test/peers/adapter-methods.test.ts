import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, describe, expect, it } from 'vitest';
import { extractLora, merge, type RecipeInput } from '../../src/index.js';

const { LAYERLOOM_PYTHON: python, LAYERLOOM_EXPERTS: experts, LAYERLOOM_ADAPTERS_TABLE: file } = process.env;

const script = fileURLToPath(new URL('adapters/methods.py', import.meta.url));
const root = mkdtempSync(join(tmpdir(), 'layerloom-adapter-methods-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

interface Found {
  readonly modules: number;
  readonly least: Readonly<Record<string, Readonly<Record<string, number>>>>;
  readonly errors: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

const tableOf = ({ least, errors }: Found): string =>
  [
    '| merge | of | error |',
    '| --- | --- | --- |',
    ...Object.entries(errors).flatMap(([target, of]) => [
      ...Object.entries(of).map(([name, error]) => `| ${name} | ${target} | ${(100 * error).toFixed(3)} % |`),
      ...Object.entries(least[target] ?? {}).map(
        ([rank, error]) => `| the least of rank ${rank} | ${target} | ${(100 * error).toFixed(3)} % |`,
      ),
    ]),
    '',
  ].join('\n');

describe.skipIf(!python || !experts)(
  'merges of two adapters beside those of PEFT (LAYERLOOM_PYTHON with peft, LAYERLOOM_EXPERTS)',
  () => {
    it('are the exact merge of their products, or the nearest of a rank', async () => {
      const base = join(experts ?? '', 'base');
      const models = await Promise.all(
        ['math-1', 'jpn-1'].map(async (name) => {
          const out = join(root, name);
          const modules = ['layers\\.(0|14|29)\\.'];
          await extractLora(
            { base, expert: join(experts ?? '', name), rank: 16, modules, dtype: 'float32' },
            { out },
          );
          return out;
        }),
      );
      const ours: Record<string, { path: string; of: string }> = {};
      const made = async (name: string, of: string, recipe: object) => {
        const path = join(root, name.replaceAll(' ', '-'));
        await merge({ base, models, ...recipe } as unknown as RecipeInput, { out: path });
        ours[name] = { path, of };
      };
      const sum = { method: 'task_arithmetic', weight: 1 };
      const ties = { method: 'ties', dialect: 'peft', weight: 1, density: 0.3 };
      const magnitude = { method: 'breadcrumbs', weight: 1, density: 0.3, gamma: 0, normalize: false };
      for (const [name, of, recipe] of [
        ['sum', 'sum', sum],
        ['sum 16', 'sum', { ...sum, rank: 16 }],
        ['ties 16', 'ties', { ...ties, rank: 16 }],
        ['ties 32', 'ties', { ...ties, rank: 32 }],
        ['breadcrumbs 16', 'magnitude', { ...magnitude, rank: 16 }],
      ] as const)
        await made(name, of, recipe);
      const list = join(root, 'ours.json');
      writeFileSync(list, JSON.stringify(ours));
      const { stdout } = await promisify(execFile)(
        python ?? '',
        ['-W', 'ignore', script, base, ...models, list],
        {
          maxBuffer: 2 ** 26,
        },
      );
      const found = JSON.parse(stdout) as Found;
      if (file !== undefined) writeFileSync(file, tableOf(found));
      expect(found.modules).toBe(21);
      const error = (target: string, name: string) => found.errors[target]?.[name] ?? Number.NaN;
      const least = (target: string, rank: number) => found.least[target]?.[rank] ?? Number.NaN;
      // Exact except for rounding of factors: sums, PEFT's concatenation, and core space with a linear
      // method.
      for (const name of ['sum', 'PEFT cat', 'core space']) expect(error('sum', name)).toBeLessThan(1e-6);
      // A limited rank gives the nearest possible adapter, for sums as for other methods.
      expect(error('sum', 'sum 16') / least('sum', 16)).toBeLessThan(1.001);
      expect(error('ties', 'ties 16') / least('ties', 16)).toBeLessThan(1.01);
      expect(error('ties', 'ties 32') / least('ties', 32)).toBeLessThan(1.01);
      expect(error('magnitude', 'breadcrumbs 16') / least('magnitude', 16)).toBeLessThan(1.01);
      // Merging factors makes cross terms, which no rank repairs.
      expect(error('sum', 'PEFT linear')).toBeGreaterThan(error('sum', 'sum 16'));
      expect(error('ties', 'PEFT ties')).toBeGreaterThan(error('ties', 'ties 16'));
      // At equal rank, the projection on core space is no nearer than the decomposition.
      expect(error('ties', 'projection on core space')).toBeGreaterThanOrEqual(least('ties', 32));
      expect(error('ties', 'core space')).toBeGreaterThan(error('ties', 'projection on core space'));
    });
  },
);
