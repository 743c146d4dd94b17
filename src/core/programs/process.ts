import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import type { Writable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { LayerloomError, reasonOf } from '../base/errors/errors.js';

/** Milliseconds from SIGTERM to SIGKILL, and between checks. */
const [graceMs, lookEveryMs] = [10_000, 50];

/**
 * Waits for a write to the pipe. If the pipe closes without a write, this process has died: ends the group.
 */
const watcher = `{ trap '' TERM; read -r _ <&3 || { kill -TERM 0; sleep ${graceMs / 1000}; kill -KILL 0; }; } >/dev/null 2>&1 &
exec 3<&-
`;

interface GroupOptions {
  readonly output: number;
  /** Connect pipes to standard input and output. */
  readonly piped?: boolean;
  readonly env: NodeJS.ProcessEnv;
}

export const notStarted = (command: string, cause: unknown): LayerloomError =>
  new LayerloomError('PROCESS_UNAVAILABLE', { command, reason: reasonOf(cause) }, { cause });

/**
 * Starts a shell command in its own process group.
 *
 * @param words the command's `"$@"`
 * @param first shell code to run before the command
 * @throws PROCESS_UNAVAILABLE; some errors come as an event, for `notStarted`
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
 * Starts a command that ends when this process ends, however it ends.
 *
 * @throws PROCESS_UNAVAILABLE
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
  // Ignores a closed pipe: the watcher may have ended with its group.
  pipe.on('error', () => undefined);
  child.once('exit', () => pipe.end('\n'));
  return child;
};

/**
 * Sends SIGTERM to a command's group, later SIGKILL.
 *
 * @param child the group's leader
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
 * True if the group has a running process. Zombies do not count, because they may stay for ever. Only Linux
 * tells them apart, so other systems return true.
 */
const hasLiving = async (group: number): Promise<boolean> => {
  if (process.platform !== 'linux') return true;
  const processes = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  // Format: `PID (NAME) STATE PARENT GROUP …`. NAME may contain any character.
  const states = await Promise.all(
    processes.map(async (name) => {
      const stat = await readFile(`/proc/${name}/stat`, 'latin1').catch(() => '');
      const [state = '', , of] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      return { state, of };
    }),
  );
  return states.some(({ state, of }) => of === String(group) && !/[ZX]/.test(state));
};

/** @returns false if the group has no process left */
const signalGroup = (pid: number, signal: NodeJS.Signals | 0): boolean => {
  try {
    process.kill(-pid, signal);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
    throw error;
  }
};

/** Returns how a process ended, with its last line of output. */
export const endingOf = (
  { code, by }: { readonly code: number | null; readonly by: NodeJS.Signals | null },
  printed: string,
): string => `${by === null ? `exit code ${code}` : `signal ${by}`}: ${lastLine(printed)}`;

export const lastLine = (text: string): string => text.trim().split('\n').at(-1)?.trim().slice(0, 300) ?? '';
