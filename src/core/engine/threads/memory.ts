import { freemem, totalmem } from 'node:os';
import { cgroupTexts } from './cgroup.js';

export interface UsableMemory {
  /** The machine's memory or its cgroups' lower limit, without swap. */
  readonly most: number;
  /** Free bytes, including reclaimable caches. */
  readonly now: number;
}

export const memoryLimit = (): number | undefined => {
  // `constrainedMemory` reads only the process's own group. No limit appears as `max`, 0 or the largest
  // integer.
  const limits = [...cgroupTexts('memory.max').map(Number), process.constrainedMemory?.() ?? 0];
  const limit = Math.min(...limits.filter((bytes) => bytes > 0));
  return limit < totalmem() ? limit : undefined;
};

export const usableMemory = (): UsableMemory => {
  const most = memoryLimit() ?? totalmem();
  // Other systems do not count reclaimable caches as free. The memory of other processes in the cgroup is unknown.
  return { most, now: process.platform === 'linux' ? Math.min(most, freemem()) : most };
};
