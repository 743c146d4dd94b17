import { execFile } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { merge } from 'layerloom';
import { describe, expect, it } from 'vitest';
import { type Family, writeFamily } from '../fixtures/family.js';
import { readTensors } from '../fixtures/merged.js';
import { decode } from '../fixtures/numbers.js';
import { difference } from '../methods/by-hand.js';
import '../../examples/custom-method/methods.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const tensor = 'model.layers.1.mlp.gate_proj.weight';

const numbersOf = ({ tensors }: Family) =>
  (['base', 'a', 'b'] as const).map((name) => decode('F32', tensors[name][tensor]?.data ?? new Uint8Array()));

const mergedNumbers = async (out: string) =>
  decode('F32', (await readTensors(out))[tensor]?.data ?? new Uint8Array());

const expectClose = (got: readonly number[], want: readonly number[]) => {
  expect(got).toHaveLength(want.length);
  for (const [i, x] of want.entries()) expect(Math.abs((got[i] ?? 0) - x)).toBeLessThan(1e-7);
};

describe('methods registered from outside', () => {
  it('are merged by, with gradients and filters like any other', async () => {
    const family = writeFamily({ layers: 3, dtype: 'F32' });
    const out = join(family.root, 'out');
    const { base, a } = family;
    await merge({ method: 'expo', base, models: [a], alpha: [0, 1] }, { out });
    const [own = [], tuned = []] = numbersOf(family);
    expectClose(
      await mergedNumbers(out),
      difference(tuned, own).map((x, i) => (own[i] ?? 0) + 1.5 * x),
    );
  });

  it('find coefficients by rules of their own', async () => {
    const family = writeFamily({ layers: 3, dtype: 'F32' });
    const out = join(family.root, 'out');
    const { base, a, b } = family;
    await merge({ method: 'equal_norms', base, models: [a, { model: b, weight: 3 }] }, { out });
    const [own = [], ...tuned] = numbersOf(family);
    const changes = tuned.map((x) => difference(x, own));
    const norms = changes.map((x) => Math.hypot(...x));
    const mean = ((norms[0] ?? 0) + (norms[1] ?? 0)) / 2;
    const part = (model: number, i: number) => ((changes[model]?.[i] ?? 0) * mean) / (norms[model] ?? 1);
    expectClose(
      await mergedNumbers(out),
      own.map((x, i) => x + 0.25 * part(0, i) + 0.75 * part(1, i)),
    );
  });
});

describe('layerloom merge --plugin', () => {
  const run = promisify(execFile);

  const prepare = (family: Family): string => {
    const directory = join(family.root, 'project');
    mkdirSync(join(directory, 'node_modules'), { recursive: true });
    symlinkSync(root, join(directory, 'node_modules/layerloom'));
    writeFileSync(join(directory, 'package.json'), '{"type": "module"}');
    copyFileSync(join(root, 'examples/custom-method/methods.ts'), join(directory, 'methods.ts'));
    return directory;
  };

  const layerloom = async (project: string, args: readonly string[]) =>
    run(process.execPath, [join(root, 'bin/layerloom.cjs'), ...args], { cwd: project }).then(
      ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
      ({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }) => ({
        code,
        stdout,
        stderr,
      }),
    );

  it('makes recipes understand methods of a module in the working directory', async () => {
    const family = writeFamily({ layers: 3, dtype: 'F32' });
    const project = prepare(family);
    const tsc = join(root, 'node_modules/.bin/tsc');
    const options = [
      '--ignoreConfig',
      '--module',
      'nodenext',
      '--target',
      'es2023',
      '--skipLibCheck',
      '--strict',
    ];
    await run(tsc, ['methods.ts', ...options], { cwd: project });
    writeFileSync(join(family.root, 'merge.yaml'), 'method: expo\nbase: ./base\nmodels: [./a]\nalpha: 0.5\n');
    const args = ['merge', '../merge.yaml', '-o', '../out'];
    const { code, stdout } = await layerloom(project, [...args, '--plugin', 'methods.js']);
    expect([code, stdout]).toEqual([0, expect.stringContaining('ExPO: alpha 0.5')]);
    const [own = [], tuned = []] = numbersOf(family);
    expectClose(
      await mergedNumbers(join(family.root, 'out')),
      difference(tuned, own).map((x, i) => (own[i] ?? 0) + 1.5 * x),
    );
    expect(await layerloom(project, [...args, '--force'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('expo'),
    });
  });

  it.each<[string, string | undefined, RegExp]>([
    ['is not there', undefined, /--plugin .*plugin\.mjs: Cannot find module/],
    ['does not parse', 'export const =', /--plugin .*plugin\.mjs: Unexpected token/],
    ['throws', "throw new Error('not today');", /plugin\.mjs: not today/],
    ['registers nothing', 'export {};', /no method was registered/],
    [
      'takes a name that is taken',
      "import { registerMethod, tensorMethod } from 'layerloom'; registerMethod(tensorMethod({ name: 'ties', title: 'T', base: 'ignored', expression: () => {} }));",
      /plugin\.mjs: there is a method ties already/,
    ],
    [
      'has a name that recipes cannot have',
      "import { registerMethod, tensorMethod } from 'layerloom'; registerMethod(tensorMethod({ name: 'My-Ties', title: 'T', base: 'ignored', expression: () => {} }));",
      /snake_case/,
    ],
  ])('says so of a module that %s, and writes nothing', async (_, text, words) => {
    const family = writeFamily({ layers: 2 });
    const project = prepare(family);
    if (text !== undefined) writeFileSync(join(project, 'plugin.mjs'), text);
    writeFileSync(join(family.root, 'merge.yaml'), 'method: soup\nmodels: [./a, ./b]\n');
    const { code, stderr } = await layerloom(project, [
      'merge',
      '../merge.yaml',
      '-o',
      '../out',
      '--plugin',
      'plugin.mjs',
    ]);
    expect([code, stderr]).toEqual([2, expect.stringMatching(words)]);
    expect(stderr).toMatch(/^error: [^\n]+\n$/);
    expect(existsSync(join(family.root, 'out'))).toBe(false);
  });
});
