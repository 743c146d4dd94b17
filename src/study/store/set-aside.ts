import { rename, rm, stat } from 'node:fs/promises';
import { LayerloomError } from '../../core/base/errors.js';
import { linkBelow } from '../../core/base/own-directory.js';
import { makeDirectories, syncDirectory } from '../../core/engine/output/durable.js';
import { absent, writing } from './failures.js';
import type { StorePaths } from './paths.js';

// Removal of an unneeded shard while others look up and link shards. The shard is set aside first, by
// renaming, so that nobody finds it any more. If it was linked just before that, it is put back, otherwise
// removed. All this under a claim on the shard, so that nobody publishes it meanwhile.

/**
 * Renames shards out of their places, each under the claim of its token: records first, since a shard without a record
 * does not exist. Their renaming is durable before a file is moved, so that a power cut leaves no record without a shard.
 */
export const setAside = async (paths: StorePaths, tokens: ReadonlyMap<string, string>): Promise<void> => {
  const each = async (work: (key: string, token: string) => Promise<void>) => {
    const all = [...tokens].map(([key, token]) => writing(paths.shard(key), () => work(key, token)));
    // All have ended before the first failure is told: who puts shards back then finds them where they stay.
    const failed = (await Promise.allSettled(all)).find(({ status }) => status === 'rejected');
    if (failed !== undefined) throw (failed as PromiseRejectedResult).reason;
  };
  await each(async (key, token) => {
    const reason = linkBelow(paths.root, paths.shardDirectory(key));
    if (reason !== undefined) throw new LayerloomError('STORE_INVALID', { store: paths.root, reason });
    await rename(paths.record(key), paths.removedRecord(key, token)).catch(absent);
  });
  await writing(paths.partials, () => syncDirectory(paths.partials));
  await each(async (key, token) => {
    await rename(paths.shard(key), paths.removedShard(key, token)).catch(absent);
  });
};

/** Returns the number of hard links to the file of a shard that was set aside; 0 if there is no file. */
export const namesAside = async (paths: StorePaths, key: string, token: string): Promise<number> =>
  (await stat(paths.removedShard(key, token)).catch(absent))?.nlink ?? 0;

/**
 * Puts a shard back that was set aside, unless it has been computed again meanwhile; the record of a shard whose file is
 * removed already stays away.
 */
export const putBack = async (paths: StorePaths, key: string, token: string): Promise<void> => {
  const isThere = async (path: string) => (await stat(path).catch(absent)) !== undefined;
  await writing(paths.shard(key), async () => {
    await makeDirectories(paths.shardDirectory(key));
    if (!(await isThere(paths.shard(key))))
      await rename(paths.removedShard(key, token), paths.shard(key)).catch(absent);
    if ((await isThere(paths.shard(key))) && !(await isThere(paths.record(key))))
      await rename(paths.removedRecord(key, token), paths.record(key)).catch(absent);
  });
  await removeAside(paths, key, token);
};

export const removeAside = (paths: StorePaths, key: string, token: string): Promise<void> =>
  writing(paths.shard(key), async () => {
    await rm(paths.removedShard(key, token), { force: true });
    await rm(paths.removedRecord(key, token), { force: true });
  });
