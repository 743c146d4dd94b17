import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import { root } from '../docs/fences.js';

const run = (script: string, args: string[], env: NodeJS.ProcessEnv = process.env) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, ...args], {
    encoding: 'utf8',
    env,
  });
  return { status, stdout: stripVTControlCharacters(stdout), stderr };
};

it('merges, checks, and lets the models answer as the README shows, within 60 lines', {
  timeout: 300_000,
}, () => {
  const directory = mkdtempSync(join(tmpdir(), 'layerloom-demo-'));
  const { status, stdout, stderr } = run(join(root, 'scripts/demo.mjs'), [join(directory, 'demo')]);
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  const [, answers = ''] =
    /```text\n( {10,}base .*?)```/s.exec(readFileSync(join(root, 'README.md'), 'utf8')) ?? [];
  expect(answers.trim().split('\n')).toHaveLength(3);
  expect(stdout).toContain(answers);
  expect(stdout).toMatch(/✓ all 7,086,208 elements are what Algorithm 1 gives/);
  // A fresh clone has four lines more.
  expect(stdout.split('\n').length).toBeLessThan(56);
});

describe('in a clone that is not built, the demo', () => {
  /** Runs the demo in a clone that has nothing else, with programs that are shell scripts. */
  const start = (programs: Readonly<Record<string, string>>) => {
    const clone = mkdtempSync(join(tmpdir(), 'layerloom-clone-'));
    mkdirSync(join(clone, 'scripts'));
    cpSync(join(root, 'scripts/demo.mjs'), join(clone, 'scripts/demo.mjs'));
    for (const [name, line] of Object.entries(programs)) {
      writeFileSync(join(clone, name), `#!/bin/sh\n${line}\n`);
      chmodSync(join(clone, name), 0o755);
    }
    return { clone, ...run(join(clone, 'scripts/demo.mjs'), [], { PATH: clone }) };
  };

  it('names what to install before it installs anything', () => {
    const { status, stdout, stderr } = start({ npm: 'exit 0', cmake: 'exit 0', make: 'exit 0' });
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toMatch(
      /cmake, make or a C\+\+ compiler is not on the PATH\nInstall CMake 3\.20 .*apt install cmake g\+\+/,
    );
  });

  it('ends with the last lines of its log if a step fails', () => {
    const { clone, status, stdout, stderr } = start({
      npm: 'echo first; echo "cannot reach the registry" >&2; exit 7',
      cmake: 'exit 0',
      make: 'exit 0',
      'c++': 'exit 0',
    });
    const log = join(clone, 'build/demo.log');
    expect({ status, stdout }).toEqual({
      status: 1,
      stdout: `Making this clone ready; npm and the compiler write to ${log}\n`,
    });
    expect(stderr).toContain(
      `\`npm ci --ignore-scripts --no-audit --no-fund\` ended with 7; the end of ${log}:`,
    );
    expect(stderr).toContain('first\ncannot reach the registry\n');
  });
});
