import { setTimeout as pause } from 'node:timers/promises';
import { checkInterrupt } from '../../../core/base/errors/errors.js';
import { acquire } from './claim-file.js';
import { clockAt } from './clock.js';

const [firstMs, lastMs] = [5, 500];

/**
 * Runs work under a claim. Waits for a live holder; replaces a dead one.
 *
 * @param clock file that is written to read the file system's time
 * @throws WRITE_FAILED; INTERRUPTED while waiting
 */
export const holdClaim = async <T>(
  path: string,
  clock: string,
  work: () => Promise<T>,
  signal?: AbortSignal,
): Promise<T> => {
  for (let wait = firstMs; ; wait = Math.min(lastMs, wait * 1.5)) {
    const claim = await acquire(path, clockAt(clock));
    if (claim !== undefined)
      try {
        return await work();
      } finally {
        await claim.release();
      }
    checkInterrupt(signal);
    // An abort ends the pause; the next round then throws.
    await pause(wait, undefined, { signal }).catch(() => undefined);
  }
};
