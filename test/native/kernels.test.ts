import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { instructionSets } from '../../src/core/native/addon.js';

const build = fileURLToPath(new URL('../../native/build', import.meta.url));

describe('the kernels', () => {
  it('give the bits of the numeric contract on every instruction set of this machine', () => {
    const output = execFileSync(join(build, 'kernels_test'), { encoding: 'utf8' });
    expect(output).toMatch(/^(\w+ )+\d{6,} checks, 0 failed\n$/);
    for (const name of instructionSets().available) expect(output).toContain(name);
  });

  // A function shared between instruction sets would be linked once, and could run on a processor without its
  // instructions.
  it('share no function between instruction sets', () => {
    const objects = join(build, 'CMakeFiles/layerloom_kernels.dir/native/kernels/targets');
    expect(existsSync(objects)).toBe(true);
    for (const object of readdirSync(objects).filter((name) => name.endsWith('.o'))) {
      const symbols = execFileSync('nm', ['--defined-only', '--extern-only', join(objects, object)], {
        encoding: 'utf8',
      });
      expect(symbols.trim().split('\n')).toHaveLength(1);
    }
  });
});
