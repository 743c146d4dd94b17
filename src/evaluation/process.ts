import type { ChildProcess } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';

/** Milliseconds between asking processes to end and ending them, and between two looks whether they have. */
const [graceMs, lookEveryMs] = [10_000, 50];

/**
 * Ends a process and all that it has started: SIGTERM to its group, and SIGKILL to what is left of it later.
 *
 * @param child leads a process group of its own
 */
export const endGroup = async ({ pid }: Pick<ChildProcess, 'pid'>): Promise<void> => {
  if (pid === undefined) return;
  const deadline = performance.now() + graceMs;
  let signal: NodeJS.Signals | 0 = 'SIGTERM';
  while (signalGroup(pid, signal)) {
    signal = performance.now() < deadline ? 0 : 'SIGKILL';
    await pause(lookEveryMs);
  }
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
