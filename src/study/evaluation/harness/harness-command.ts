import { spawnSync } from 'node:child_process';
import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { isPlainWord, shellWord } from '../../../core/base/errors/command-line.js';
import { LayerloomError } from '../../../core/base/errors/errors.js';

export const harnessName = 'lm_eval';

/** Exits with 0 if lm_eval is installed. A folder `lm_eval` in the working directory is ignored. */
const isInstalled = `import importlib.util, os, sys
found = importlib.util.find_spec("${harnessName}")
origin = found.origin if found is not None else None
sys.exit(origin is None or os.path.dirname(os.path.dirname(os.path.abspath(origin))) == os.getcwd())`;

export interface FoundHarness {
  /** Command for the shell: `lm_eval`, or `/usr/bin/python3 -m lm_eval`. */
  readonly command: string;
  /** Path of lm_eval or of the Python that has it. */
  readonly file: string;
}

/** Finds `lm_eval` on the PATH, else the first Python that has it installed. */
export const findHarness = (path: string): FoundHarness | undefined => {
  const folders = path.split(delimiter).filter((folder) => folder !== '');
  const file = folders.map((folder) => join(folder, harnessName)).find(isProgram);
  if (file !== undefined) return { command: harnessName, file };
  const pythons = folders.flatMap((folder) => [join(folder, 'python3'), join(folder, 'python')]);
  const python = pythons.find((each) => isProgram(each) && hasHarness(each));
  return python === undefined
    ? undefined
    : { command: `${shellWord(python)} -m ${harnessName}`, file: python };
};

/** Defaults to `lm_eval` even if it is not found, because the commands may run on another machine. */
export const harnessCommand = (given: string | undefined): string =>
  given ?? findHarness(process.env['PATH'] ?? '')?.command ?? harnessName;

/**
 * Checks that the shell finds the program. Commands with shell syntax are not checked.
 *
 * @throws HARNESS_MISSING
 */
export const checkHarness = (command: string): void => {
  const [word = ''] = command.trim().split(' ');
  if (!command.split(' ').every((each) => each === '' || isPlainWord(each)) || word.includes('=')) return;
  const { status, error } = spawnSync('sh', ['-c', 'command -v "$1"', 'sh', word], { stdio: 'ignore' });
  // If no process can start, the run reports it.
  if (status === 0 || error !== undefined) return;
  const others = command === harnessName ? ', and no Python there has it' : '';
  throw new LayerloomError('HARNESS_MISSING', { command, reason: `${word} is not on the PATH${others}` });
};

const isProgram = (file: string): boolean => {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
};

const hasHarness = (python: string): boolean =>
  spawnSync(python, ['-c', isInstalled], { stdio: 'ignore', timeout: 20_000 }).status === 0;
