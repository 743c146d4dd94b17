import { randomUUID } from 'node:crypto';
import { readdir, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { holdersPath, modelRecordPath } from './folder.js';
import { type LockedFile, lockFile, lockNow, withLock } from './lock.js';
import { foreignRangeFolder } from './own-folder.js';
import { rangeCacheRoot } from './root.js';

/** A file of `holders/` that this process keeps locked. */
interface Holder {
  readonly path: string;
  readonly locked: LockedFile;
}

/** Folders that this process holds. */
const held = new Map<string, Promise<Holder>>();

/** The lock under which holders come and folders are removed; it is never removed itself. */
export const cacheLock = (root: string): string => join(root, '.lock');

/**
 * Keeps a folder of the cache of ranges from being removed until this process ends: a plan that was made of
 * it may be carried out much later. Notes that the folder was used.
 *
 * @param folder absolute, under `root`
 * @throws LayerloomError WRITE_FAILED
 */
export const holdRangeFolder = async (folder: string, root = rangeCacheRoot()): Promise<void> => {
  const now = new Date();
  // A cache that a user removed by hand, and that came anew, knows nothing of its holders.
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
  // A model whose headers have not come has no record yet.
  await utimes(modelRecordPath(folder), now, now).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
  });
};

const isThere = async ({ path, locked: { file } }: Holder): Promise<boolean> => {
  const none = () => undefined;
  const [named, own] = await Promise.all([stat(path).catch(none), file.stat().catch(none)]);
  return named !== undefined && named.ino === own?.ino && named.dev === own.dev;
};

/** True if this or another process holds a folder. Must be called under the lock of the cache. */
export const isHeld = async (folder: string): Promise<boolean> => held.has(folder) || hasHolders(folder);

const holderName = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * True if another process holds a folder. Removes the files of processes that ended, where they are this user's to
 * remove; on a file system without locks, which cannot tell, they count.
 */
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
