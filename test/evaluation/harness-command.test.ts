import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { pythonOfHarness } from '../../src/core/programs/python-of-harness.js';
import {
  checkHarness,
  findHarness,
  harnessCommand,
} from '../../src/study/evaluation/harness/harness-command.js';
import { temporaryDirectory } from '../fixtures/checkpoints.js';

// The harness without a given command: its program on the PATH, or a Python on the PATH that has it
// installed.

const folderWith = (name: string, status: number): string => {
  const folder = temporaryDirectory();
  writeFileSync(join(folder, name), `#!/bin/sh\nexit ${status}\n`, { mode: 0o755 });
  return folder;
};

describe('the command of the harness', () => {
  it('is the program of the PATH, whatever Pythons there are', () => {
    const [python, program] = [folderWith('python3', 0), folderWith('lm_eval', 0)];
    expect(findHarness(`${python}:${program}`)).toEqual({
      command: 'lm_eval',
      file: join(program, 'lm_eval'),
    });
  });

  it('is that of the first Python which can import it, where there is no program', async () => {
    const [without, having] = [folderWith('python3', 1), folderWith('python', 0)];
    const found = findHarness(`/nowhere::${without}:${having}`);
    expect(found).toEqual({ command: `${join(having, 'python')} -m lm_eval`, file: join(having, 'python') });
    expect(await pythonOfHarness(found?.command ?? '', '')).toBe(join(having, 'python'));
    expect(findHarness(`/nowhere:${without}`)).toBeUndefined();
  });

  it('is not a folder of that name in the working directory, which a Python would run', () => {
    const path = process.env['PATH'] ?? '';
    const [before, folder] = [process.cwd(), temporaryDirectory()];
    onTestFinished(() => process.chdir(before));
    mkdirSync(join(folder, 'lm_eval'));
    for (const name of ['__init__.py', '__main__.py']) writeFileSync(join(folder, 'lm_eval', name), '');
    process.chdir(folder);
    expect(findHarness(path)?.command ?? 'lm_eval').toBe('lm_eval');
  });

  it('is the one that is given, and is looked for before anything is written', () => {
    expect(harnessCommand('uv run lm_eval')).toBe('uv run lm_eval');
    for (const command of [
      'sh -m lm_eval',
      'exec sh',
      'A=1 no-such-program',
      'no-such-program | cat',
      '/bin/sh',
    ])
      expect(() => checkHarness(command)).not.toThrow();
    for (const command of ['no-such-program', '/nowhere/python -m lm_eval'])
      expect(() => checkHarness(command)).toThrow('is not on the PATH');
  });

  it('is found by one function: no other file has a command of its own', () => {
    const root = fileURLToPath(new URL('../../src', import.meta.url));
    const own = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter(
      (file) =>
        file.endsWith('.ts') && /(\?\?|=|return) 'lm_eval'/.test(readFileSync(join(root, file), 'utf8')),
    );
    expect(own).toEqual(['study/evaluation/harness/harness-command.ts']);
  });
});
