import { freemem, totalmem } from 'node:os';
import { cgroupTexts } from './cgroup.js';

export interface UsableMemory {
  /** Memory of the machine or its cgroups, without swap. */
  readonly most: number;
  /** Free now, counting reclaimable caches. */
  readonly now: number;
}

/** Returns the cgroups' limit in bytes, version 1 or 2. */
export const memoryLimit = (): number | undefined => {
  // Node reads only the process's own group. No limit is `max`, 0 or the largest integer.
  const limits = [...cgroupTexts('memory.max').map(Number), process.constrainedMemory?.() ?? 0];
  const limit = Math.min(...limits.filter((bytes) => bytes > 0));
  return limit < totalmem() ? limit : undefined;
};

export const usableMemory = (): UsableMemory => {
  const most = memoryLimit() ?? totalmem();
  // On other systems, free memory excludes reclaimable caches. Usage by others in the cgroup is unknown too.
  return { most, now: process.platform === 'linux' ? Math.min(most, freemem()) : most };
};
