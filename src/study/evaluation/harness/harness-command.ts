import { spawnSync } from 'node:child_process';
import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { isPlainWord, shellWord } from '../../../core/base/command-line.js';
import { LayerloomError } from '../../../core/base/errors.js';

/** The harness's own program. */
export const harnessName = 'lm_eval';

/**
 * Ends with 0 where `python -m lm_eval` runs an installed harness. A folder of that name in the working directory, which may
 * be anybody's, would be run in its place.
 */
const isInstalled = `import importlib.util, os, sys
found = importlib.util.find_spec("${harnessName}")
origin = found.origin if found is not None else None
sys.exit(origin is None or os.path.dirname(os.path.dirname(os.path.abspath(origin))) == os.getcwd())`;

/** How the harness is run where nobody says it. */
export interface FoundHarness {
  /** For the shell: `lm_eval`, or `/usr/bin/python3 -m lm_eval`. */
  readonly command: string;
  /** The program, or the Python that has it. */
  readonly file: string;
}

/**
 * Finds the harness: `lm_eval` of the PATH, else the first Python there that has it installed, as where the folder of that
 * Python's programs is not on the PATH.
 */
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

/** Returns the command of the harness that is given, else that of the one that is found, else `lm_eval`, as on another machine. */
export const harnessCommand = (given: string | undefined): string =>
  given ?? findHarness(process.env['PATH'] ?? '')?.command ?? harnessName;

/**
 * Checks that the shell finds the program of a command, before anything is written for it. A command of more than plain words
 * is for the shell alone to understand.
 *
 * @throws LayerloomError HARNESS_MISSING
 */
export const checkHarness = (command: string): void => {
  const [word = ''] = command.trim().split(' ');
  if (!command.split(' ').every((each) => each === '' || isPlainWord(each)) || word.includes('=')) return;
  const { status, error } = spawnSync('sh', ['-c', 'command -v "$1"', 'sh', word], { stdio: 'ignore' });
  // That no process starts is said where the command is started.
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
