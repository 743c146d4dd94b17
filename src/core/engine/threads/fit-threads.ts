import { LayerloomError } from '../../base/errors/errors.js';
import { gigabytes } from '../../base/errors/gigabytes.js';
import { type MemoryNeed, memoryWith } from '../../plan/reports/memory.js';
import { type UsableMemory, usableMemory } from './memory.js';

export interface FittingThreads {
  readonly threads: number;
  /** Warns that fewer threads are used, or that even these may need too much memory. */
  readonly warning?: string;
}

/** Returns how many threads fit into free memory: from 1 to `wanted`. */
export const mostThreads = (need: MemoryNeed, wanted: number, { now } = usableMemory()): number => {
  let threads = wanted;
  while (threads > 1 && memoryWith(need, threads) > now) threads -= 1;
  return threads;
};

/** @throws MEMORY_NEEDED if the machine or cgroup has too little memory for one thread */
export const fitThreads = (
  need: MemoryNeed,
  wanted: number,
  memory: UsableMemory = usableMemory(),
): FittingThreads => {
  const { most, now } = memory;
  const threads = mostThreads(need, wanted, memory);
  const needed = memoryWith(need, threads);
  if (need.matrix === undefined) return { threads };
  const { tensor, lighter } = need.matrix;
  if (needed > most) throw new LayerloomError('MEMORY_NEEDED', { tensor, needed, available: most, lighter });
  const free = `${gigabytes(now)} of memory are free`;
  if (needed > now)
    return {
      threads,
      warning: `${tensor} needs ${gigabytes(needed)} of memory, and ${free}: end other programs, or the system may end this one`,
    };
  return threads === wanted
    ? { threads }
    : {
        threads,
        warning: `${threads} of ${wanted} threads are used: each takes ${gigabytes(need.ofThread)} for ${tensor}, and ${free}`,
      };
};
