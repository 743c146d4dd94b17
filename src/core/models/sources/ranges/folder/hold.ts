import { randomUUID } from 'node:crypto';
import { readdir, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { holdersPath, modelRecordPath } from './folder.js';
import { type LockedFile, lockFile, lockNow, withLock } from './lock.js';
import { foreignRangeFolder } from './own-folder.js';
import { rangeCacheRoot } from './root.js';

interface Holder {
  readonly path: string;
  readonly locked: LockedFile;
}

const held = new Map<string, Promise<Holder>>();

/** A lock for adding holders and removing folders. The file is never removed. */
export const cacheLock = (root: string): string => join(root, '.lock');

/**
 * Protects a folder of the cache of ranges from removal until this process ends. Records the use.
 *
 * @param folder absolute, under `root`
 * @throws WRITE_FAILED
 */
export const holdRangeFolder = async (folder: string, root = rangeCacheRoot()): Promise<void> => {
  const now = new Date();
  // Holders are lost if the cache was removed by hand and created again.
  const former = held.get(folder);
  if (former !== undefined && !(await isThere(await former)) && held.get(folder) === former) {
    held.delete(folder);
    await (await former).locked.file.close();
  }
  if (!held.has(folder)) {
    const taken = withLock(cacheLock(root), undefined, async () => {
      await hasHolders(folder);
      const path = join(holdersPath(folder), randomUUID());
      return { path, locked: await lockFile(path) };
    });
    held.set(folder, taken);
    taken.catch(() => held.delete(folder));
  }
  await held.get(folder);
  await utimes(modelRecordPath(folder), now, now).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
  });
};

const isThere = async ({ path, locked: { file } }: Holder): Promise<boolean> => {
  const none = () => undefined;
  const [named, own] = await Promise.all([stat(path).catch(none), file.stat().catch(none)]);
  return named !== undefined && named.ino === own?.ino && named.dev === own.dev;
};

/** True if any process holds the folder; needs the cache's lock. */
export const isHeld = async (folder: string): Promise<boolean> => held.has(folder) || hasHolders(folder);

const holderName = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** True if another process holds a folder. Removes this user's files of ended processes. */
const hasHolders = async (folder: string): Promise<boolean> => {
  const directory = holdersPath(folder);
  const isOwn = foreignRangeFolder(directory) === undefined;
  const names = await readdir(directory).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
  for (const name of names.filter((each) => holderName.test(each))) {
    const locked = await lockNow(join(directory, name));
    if (locked === undefined) return true;
    await locked.file.close();
    if (locked.state === 'unsupported') return true;
    if (isOwn) await rm(join(directory, name), { force: true });
  }
  return false;
};
