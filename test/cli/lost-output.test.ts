import { spawnSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { writePair } from '../fixtures/checkpoints.js';

// Commands whose output nobody can read.

const main = fileURLToPath(new URL('../../bin/layerloom.cjs', import.meta.url));

const run = (line: string, cwd: string) => {
  const { stdout, stderr } = spawnSync('bash', ['-c', line.replaceAll('layerloom', `"$NODE" "$MAIN"`)], {
    cwd,
    encoding: 'utf8',
    env: { ...process.env, NODE: process.execPath, MAIN: main },
  });
  return { stdout, stderr };
};

describe('a command whose stdout', () => {
  const commands = ['inspect task', 'inspect task --json', 'diff task language', '--help', '--version', '-V'];

  it.each(commands)('is closed by its reader ends with 141, without a word: %s', (command) => {
    const { root } = writePair();
    // The reader ends first.
    const line = `{ sleep 0.2; layerloom ${command}; echo "$?" >&3; } | true`;
    expect(run(`{ ${line}; } 3>&1`, root)).toEqual({ stdout: '141\n', stderr: '' });
  });

  it('is closed does its work all the same', () => {
    const { root } = writePair();
    const line = '{ sleep 0.2; layerloom soup task language -o merged --json; echo "$?" >&3; } | true';
    expect(run(`{ ${line}; } 3>&1`, root).stdout).toBe('141\n');
    expect(existsSync(join(root, 'merged', 'layerloom.json'))).toBe(true);
  });

  it('is closed before many lines ends without a word of Node', () => {
    const { root } = writePair();
    const merges = Array.from({ length: 20 }, (_, at) => ({
      name: `m${at}`,
      method: 'soup',
      weights: [at + 1, 1],
    }));
    const experiment = {
      tasks: { math: './task' },
      languages: { swahili: { swh: './language' } },
      merges,
    };
    writeFileSync(join(root, 'many.yaml'), JSON.stringify(experiment));
    const line = '{ sleep 0.2; layerloom batch many.yaml -o many --json; echo "$?" >&3; } | true';
    expect(run(`{ ${line}; } 3>&1`, root)).toEqual({ stdout: '141\n', stderr: '' });
  });

  it('is closed and that fails ends with its own code', () => {
    const { root } = writePair();
    const line = '{ sleep 0.2; layerloom inspect nothing --json; echo "$?" >&3; } | true';
    expect(run(`{ ${line}; } 3>&1`, root).stdout).toBe('3\n');
  });

  it.runIf(existsSync('/dev/full'))('is on a full disk ends with an error', () => {
    const { root } = writePair();
    const { stdout, stderr } = run('layerloom inspect task > /dev/full; echo "$?"', root);
    expect([stdout, stderr]).toEqual([
      '1\n',
      expect.stringMatching(/the output cannot be written: .*ENOSPC/),
    ]);
  });
});
