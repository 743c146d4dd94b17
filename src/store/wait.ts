import { setTimeout } from 'node:timers/promises';
import { checkInterrupt } from '../errors.js';
import { examine } from './claim-file.js';
import { clockAt } from './clock.js';
import type { StorePaths } from './paths.js';
import { readEntry, wholeOf } from './record.js';

const [firstMs, lastMs] = [10, 2000];

/**
 * Returns, of shards that other processes compute, those worth another look: published, or free to be claimed because their claimant gave up or died.
 * Looks again and again, ever less often, since no file system tells one host what another one did.
 *
 * @throws LayerloomError INTERRUPTED
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
    // An abort ends the pause; the next round says so.
    await setTimeout(pause, undefined, { signal }).catch(() => undefined);
  }
};
