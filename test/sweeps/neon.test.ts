import { execFileSync, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const build = `${root}native/build/aarch64`;

const has = (tool: string): boolean => spawnSync(tool, ['--version']).status === 0;

// Debian: apt-get install g++-aarch64-linux-gnu qemu-user
describe.skipIf(!has('aarch64-linux-gnu-g++') || !has('qemu-aarch64'))(
  'the kernels for AArch64, under emulation',
  () => {
    it('give the bits of the numeric contract with NEON', () => {
      const toolchain = `${root}native/toolchains/aarch64-linux-gnu.cmake`;
      execFileSync('cmake', ['-S', root, '-B', build, `-DCMAKE_TOOLCHAIN_FILE=${toolchain}`]);
      execFileSync('cmake', ['--build', build, '--target', 'kernels_test']);
      const output = execFileSync('qemu-aarch64', ['-L', '/usr/aarch64-linux-gnu', `${build}/kernels_test`], {
        encoding: 'utf8',
      });
      expect(output).toMatch(/^neon scalar \d{7,} checks, 0 failed\n$/);
    }, 300_000);
  },
);
