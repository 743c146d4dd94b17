import { setTimeout } from 'node:timers/promises';
import { checkInterrupt } from '../../../core/base/errors/errors.js';
import type { StorePaths } from '../files/paths.js';
import { readEntry, wholeOf } from '../files/record.js';
import { examine } from './claim-file.js';
import { clockAt } from './clock.js';

const [firstMs, lastMs] = [10, 2000];

/**
 * Waits until a shard exists or can be claimed. Polls at growing intervals, because a shared file system does
 * not notify hosts of changes by others.
 *
 * @throws INTERRUPTED
 */
export const waitForAny = async (
  paths: StorePaths,
  keys: readonly string[],
  signal?: AbortSignal,
): Promise<string[]> => {
  for (let pause = firstMs; ; pause = Math.min(lastMs, pause * 1.5)) {
    checkInterrupt(signal);
    const now = clockAt(paths.clock);
    const settled = await Promise.all(
      keys.map(async (key) => {
        const { state } = await examine(paths.claim(key), now);
        return state !== 'live' || wholeOf(await readEntry(paths, key)) !== undefined;
      }),
    );
    const found = keys.filter((_, index) => settled[index]);
    if (found.length > 0 || keys.length === 0) return found;
    // An abort ends the pause; the next round then throws.
    await setTimeout(pause, undefined, { signal }).catch(() => undefined);
  }
};
