import { spawn } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { currentHost, targetOf } from '../../src/core/native/prebuilt.js';
import { temporaryDirectory } from '../fixtures/checkpoints.js';
import { finished } from '../fixtures/cli.js';

const root = fileURLToPath(new URL('../..', import.meta.url));

it('`layerloom build` puts an addon that loads in the place of one that does not', async () => {
  const copy = join(temporaryDirectory(), 'layerloom');
  mkdirSync(copy);
  for (const part of ['bin', 'dist', 'native', 'CMakeLists.txt', 'package.json'])
    cpSync(join(root, part), join(copy, part), {
      recursive: true,
      filter: (path) => !/\/native\/build/.test(path),
    });
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  const folder = join(copy, 'prebuilds', targetOf(currentHost()));
  const addon = join(folder, 'layerloom.node');
  mkdirSync(folder, { recursive: true });
  writeFileSync(addon, 'broken');
  // Compiles without optimisation, which would take most of the time: tests only that the addon is built and
  // loads.
  const compiler = join(copy, 'c++');
  writeFileSync(compiler, `#!/bin/sh\nexec ${process.env['CXX'] || 'c++'} "$@" -O0\n`, { mode: 0o755 });
  const env = { ...process.env, CXX: compiler };
  const run = (...args: string[]) =>
    finished(spawn(process.execPath, [join(copy, 'bin/layerloom.cjs'), ...args], { env }));
  expect(await run('build', '--quiet')).toEqual({ code: 0, stdout: '', stderr: '' });
  expect(readFileSync(addon).subarray(1, 4).toString()).toBe('ELF');
  expect(existsSync(`${folder}.built`)).toBe(false);
  expect((await run('--version', '--json')).code).toBe(0);
});
