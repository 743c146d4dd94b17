import { rename, rm, stat } from 'node:fs/promises';
import { makeDirectories } from '../engine/output/durable.js';
import { absent, writing } from './failures.js';
import type { StorePaths } from './paths.js';

// Removing a shard that nobody needs, while others look shards up and link them. It is set aside first: from then on nobody finds or links it. Then
// it is seen whether somebody did just before, and only if not is it removed, else put back. Only under a claim on the shard, which keeps others from publishing it.

/** Takes a shard out of its place; its record first, without which it does not count. */
export const setAside = (paths: StorePaths, key: string, token: string): Promise<void> =>
  writing(paths.shard(key), async () => {
    await rename(paths.record(key), paths.removedRecord(key, token)).catch(absent);
    await rename(paths.shard(key), paths.removedShard(key, token)).catch(absent);
  });

/** How many names the file of a shard has that was set aside; 0 where there is none. */
export const namesAside = async (paths: StorePaths, key: string, token: string): Promise<number> =>
  (await stat(paths.removedShard(key, token)).catch(absent))?.nlink ?? 0;

/** Puts back what was set aside, unless it has been computed again since. */
export const putBack = async (paths: StorePaths, key: string, token: string): Promise<void> => {
  await writing(paths.shard(key), async () => {
    await makeDirectories(paths.shardDirectory(key));
    for (const [aside, place] of [
      [paths.removedShard(key, token), paths.shard(key)],
      [paths.removedRecord(key, token), paths.record(key)],
    ] as const) {
      const isTaken = (await stat(place).catch(absent)) !== undefined;
      if (!isTaken) await rename(aside, place).catch(absent);
    }
  });
  await removeAside(paths, key, token);
};

export const removeAside = (paths: StorePaths, key: string, token: string): Promise<void> =>
  writing(paths.shard(key), async () => {
    await rm(paths.removedShard(key, token), { force: true });
    await rm(paths.removedRecord(key, token), { force: true });
  });
