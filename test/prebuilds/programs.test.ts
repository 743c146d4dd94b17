import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { platforms, treeRoot, withReason } from './platforms.js';

describe.each(platforms)(
  'a program that the compiler of the addon for $name built',
  ({ name, instructionSets, runner, missing }) => {
    const build = `${treeRoot}native/build-zig/${name}`;
    const reason = missing.program ?? (existsSync(build) ? undefined : `\`npm run prebuild -- ${name}\``);

    const outputOf = (program: string): string => {
      execFileSync('cmake', ['--build', build, '--target', program]);
      const [command = '', ...args] = [...runner, `${build}/${program}`];
      return execFileSync(command, args, { encoding: 'utf8' });
    };

    it.skipIf(reason)(withReason('keeps the numeric contract in every kernel', reason), () => {
      expect(outputOf('kernels_test')).toMatch(
        new RegExp(`^${instructionSets.join(' ')} \\d{7,} checks, 0 failed\\n$`),
      );
    });

    it.skipIf(reason)(withReason('survives a file that shrinks', reason), () => {
      expect(outputOf('guard_test')).toMatch(/^\d+ checks, 0 failed\n$/);
    });
  },
);
