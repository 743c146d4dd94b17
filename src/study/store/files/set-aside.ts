import { rename, rm, stat } from 'node:fs/promises';
import { allInOrder } from '../../../core/base/all-in-order.js';
import { LayerloomError } from '../../../core/base/errors/errors.js';
import { linkBelow } from '../../../core/base/files/own-directory.js';
import { writing } from '../../../core/base/files/writing.js';
import { makeDirectories, syncDirectory } from '../../../core/engine/output/durable.js';
import { absent } from './failures.js';
import type { StorePaths } from './paths.js';

// Removes an unneeded shard under a claim, while other processes look up and link shards. Renames it first so that
// nobody finds it, and restores it if it was linked just before.

/** Sets claimed shards aside: first records, then a sync, so a power cut leaves no record without a shard. */
export const setAside = async (paths: StorePaths, tokens: ReadonlyMap<string, string>): Promise<void> => {
  const each = async (work: (key: string, token: string) => Promise<void>) => {
    // Waits for all renames, so that the caller can restore every shard.
    await allInOrder([...tokens].map(([key, token]) => writing(paths.shard(key), () => work(key, token))));
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

/** Returns the link count of a file set aside; 0 if it does not exist. */
export const namesAside = async (paths: StorePaths, key: string, token: string): Promise<number> =>
  (await stat(paths.removedShard(key, token)).catch(absent))?.nlink ?? 0;

/** Restores a shard, unless it was recomputed. Without the file, does not restore the record. */
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
