import { open } from 'node:fs/promises';
import { shellWord } from '../base/errors/command-line.js';
import { readBlock } from '../models/checkpoint/files/read-block.js';
import { findProgram } from './find-program.js';

/** Programs that run a command in a Python environment, passing input and output through. */
const launchers = new Set(['uv', 'uvx', 'poetry', 'pdm', 'pixi', 'rye', 'hatch', 'pipenv']);

const isPython = (word: string): boolean => /(^|\/)(python|pypy)[\d.]*$/.test(word);
const isHarness = (word: string): boolean => /(^|\/)lm[_-]eval$/.test(word);

/**
 * Returns the Python of a harness's command. `python -m lm_eval` names it; `lm_eval` names it in its first
 * line; `uv run lm_eval` and the like become `uv run python`. Undefined for other commands, such as a
 * container.
 */
export const pythonOfHarness = async (command: string, path: string): Promise<string | undefined> => {
  // Does not parse text that a shell would interpret.
  if (!/^[\w@%+=:,./ -]+$/.test(command)) return undefined;
  const words = command.trim().split(/ +/);
  const [last = '', flag] = words.toReversed();
  if (!isHarness(last)) return undefined;
  if (flag === '-m') {
    const before = words.slice(0, -2);
    return isPython(before.at(-1) ?? '') && isLauncher(before.slice(0, -1)) ? before.join(' ') : undefined;
  }
  const before = words.slice(0, -1);
  if (before.length > 0) return isLauncher(before) ? [...before, 'python'].join(' ') : undefined;
  const program = await findProgram(last, path);
  return program === undefined ? undefined : await interpreterOf(program);
};

const isLauncher = ([first]: readonly string[]): boolean => first === undefined || launchers.has(first);

const headBytes = 1024;

/** Returns the interpreter in `#!/usr/bin/python3`, or in pip's `'''exec' PYTHON "$0"`. */
const interpreterOf = async (script: string): Promise<string | undefined> => {
  const file = await open(script);
  try {
    const head = await readBlock(file, Buffer.alloc(headBytes), 0);
    const [first = '', second = ''] = head.toString('utf8').split('\n');
    const named = /^#!\s*(\S+)\s*$/.exec(first)?.[1] ?? '';
    const found = named === '/bin/sh' ? /^'''exec' "?([^"]+?)"? "\$0"/.exec(second)?.[1] : named;
    if (found !== undefined && isPython(found)) return shellWord(found);
    return /^#!\s*\/usr\/bin\/env (python[\d.]*)\s*$/.exec(first)?.[1];
  } finally {
    await file.close();
  }
};
