import { LayerloomError } from '../../base/errors.js';
import { gigabytes } from '../../base/gigabytes.js';
import { type MemoryNeed, memoryWith } from '../../plan/memory.js';
import { type UsableMemory, usableMemory } from './memory.js';

/** The threads that a run takes. */
export interface FittingThreads {
  readonly threads: number;
  /** Why they are fewer than wanted, or may still be too many. */
  readonly warning?: string;
}

/** Returns as many threads, up to those wanted, as there is memory for now; at least one. */
export const mostThreads = (need: MemoryNeed, wanted: number, { now } = usableMemory()): number => {
  let threads = wanted;
  while (threads > 1 && memoryWith(need, threads) > now) threads -= 1;
  return threads;
};

/**
 * Returns as many threads, up to those wanted, as there is memory for now, at least one. What they compute does not depend on
 * their number.
 *
 * @throws LayerloomError MEMORY_NEEDED where the machine, or the limit of its cgroup, has no memory for one
 */
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
