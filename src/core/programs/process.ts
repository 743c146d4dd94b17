import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import type { Writable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { LayerloomError, reasonOf } from '../base/errors.js';

/** Milliseconds between asking processes to end and ending them, and between two looks whether they have. */
const [graceMs, lookEveryMs] = [10_000, 50];

/**
 * Waits in the background until this process closes the pipe or writes to it. Closed without a word, this process has ended,
 * killed perhaps, and the group that it has started is ended too.
 */
const watcher = `{ trap '' TERM; read -r _ <&3 || { kill -TERM 0; sleep ${graceMs / 1000}; kill -KILL 0; }; } >/dev/null 2>&1 &
exec 3<&-
`;

interface GroupOptions {
  /** File descriptor of what it prints. */
  readonly output: number;
  /** Pipes take the place of its input and of its standard output: of a process that is spoken with. Default false. */
  readonly piped?: boolean;
  readonly env: NodeJS.ProcessEnv;
}

/** The error of a command that the system did not start. */
export const notStarted = (command: string, cause: unknown): LayerloomError =>
  new LayerloomError('PROCESS_UNAVAILABLE', { command, reason: reasonOf(cause) }, { cause });

/**
 * Starts a command of the shell in a process group of its own, which `endGroup` ends.
 *
 * @param words what the command finds as `"$@"`
 * @param first what the shell does before
 * @throws LayerloomError PROCESS_UNAVAILABLE; some errors come as an event instead, for `notStarted`
 */
export const startShell = (
  command: string,
  words: readonly string[],
  { first = '', ...options }: SpawnOptions & { readonly first?: string },
): ChildProcess => {
  try {
    return spawn('/bin/sh', ['-c', `${first}${command}`, 'sh', ...words], { ...options, detached: true });
  } catch (cause) {
    throw notStarted(command.replace(/^exec (.*) "\$@"$/s, '$1'), cause);
  }
};

/**
 * Starts a command of the shell that ends with this process however that ends; as `startShell`.
 *
 * @throws LayerloomError PROCESS_UNAVAILABLE
 */
export const spawnGroup = (
  command: string,
  words: readonly string[],
  { output, piped = false, env }: GroupOptions,
): ChildProcess => {
  const child = startShell(command, words, {
    first: watcher,
    stdio: [piped ? 'pipe' : 'ignore', piped ? 'pipe' : output, output, 'pipe'],
    env,
  });
  const pipe = child.stdio[3] as Writable;
  // The watcher may have been ended with its group.
  pipe.on('error', () => undefined);
  child.once('exit', () => pipe.end('\n'));
  return child;
};

/**
 * Ends a process and all that it has started: SIGTERM to its group, and SIGKILL to what is left of it later.
 *
 * @param child leads a process group of its own
 */
export const endGroup = async ({ pid }: Pick<ChildProcess, 'pid'>): Promise<void> => {
  if (pid === undefined) return;
  const deadline = performance.now() + graceMs;
  let signal: NodeJS.Signals | 0 = 'SIGTERM';
  while (signalGroup(pid, signal) && (await hasLiving(pid))) {
    signal = performance.now() < deadline ? 0 : 'SIGKILL';
    await pause(lookEveryMs);
  }
};

/**
 * Returns whether processes of a group run. Those that have ended stay in it until a parent asks for their exit code, which
 * in a container that has no init nobody does: on Linux their state tells, elsewhere they count.
 */
const hasLiving = async (group: number): Promise<boolean> => {
  if (process.platform !== 'linux') return true;
  const processes = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  // `PID (NAME) STATE PARENT GROUP …`, where the name may have any characters.
  const states = await Promise.all(
    processes.map(async (name) => {
      const stat = await readFile(`/proc/${name}/stat`, 'latin1').catch(() => '');
      const [state = '', , of] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      return { state, of };
    }),
  );
  return states.some(({ state, of }) => of === String(group) && !/[ZX]/.test(state));
};

/** @returns false if no process of the group is left */
const signalGroup = (pid: number, signal: NodeJS.Signals | 0): boolean => {
  try {
    process.kill(-pid, signal);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
    throw error;
  }
};

/** Returns the exit code or the signal that ended a process, and the last line that it printed. */
export const endingOf = (
  { code, by }: { readonly code: number | null; readonly by: NodeJS.Signals | null },
  printed: string,
): string => `${by === null ? `exit code ${code}` : `signal ${by}`}: ${lastLine(printed)}`;

export const lastLine = (text: string): string => text.trim().split('\n').at(-1)?.trim().slice(0, 300) ?? '';
