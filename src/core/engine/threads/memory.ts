import { freemem, totalmem } from 'node:os';
import { cgroupTexts } from './cgroup.js';

/** Memory of this process, in bytes. */
export interface UsableMemory {
  /** What the machine has, or its cgroups allow; without swap. */
  readonly most: number;
  /** What of it could be had now: no process has it, or caches would give it back. */
  readonly now: number;
}

/** Returns the limit of the process's cgroups in bytes, version 1 or 2; undefined where there is none. */
export const memoryLimit = (): number | undefined => {
  // Node knows of the process's own group alone. No limit is `max`, 0 or the largest integer.
  const limits = [...cgroupTexts('memory.max').map(Number), process.constrainedMemory?.() ?? 0];
  const limit = Math.min(...limits.filter((bytes) => bytes > 0));
  return limit < totalmem() ? limit : undefined;
};

export const usableMemory = (): UsableMemory => {
  const most = memoryLimit() ?? totalmem();
  // On other systems what is free does not include what caches would give back. What others in the cgroup have is not
  // known without its caches either.
  return { most, now: process.platform === 'linux' ? Math.min(most, freemem()) : most };
};
