import { constants, type FileHandle, mkdir, open, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { checkInterrupt } from '../../../../base/errors/errors.js';
import { writeFailed, writing } from '../../../../base/files/writing.js';
import { tryLock } from '../../../../native/addon.js';

const pause = 100;

/** A file with an exclusive lock; `unsupported` if the file system has no locks. */
export interface LockedFile {
  readonly file: FileHandle;
  readonly state: 'taken' | 'unsupported';
}

/**
 * Opens or creates a file, and locks it until it is closed; undefined if another process has the lock.
 *
 * @throws WRITE_FAILED
 */
export const lockNow = async (path: string): Promise<LockedFile | undefined> => {
  for (;;) {
    const file = await openForLock(path);
    const state = tryLock(file.fd);
    const [held, named] = await Promise.all([
      file.stat().catch(async (cause: unknown) => {
        await file.close();
        throw writeFailed(path, cause);
      }),
      stat(path).catch(() => undefined),
    ]);
    // The file may have been removed or replaced between opening and locking.
    const isNamed = named?.ino === held.ino && named.dev === held.dev;
    if (state !== 'held elsewhere' && isNamed) return { file, state };
    await file.close();
    if (state === 'held elsewhere') return undefined;
  }
};

/**
 * Flags like `a+` that do not follow links: in a shared folder, a link may lead to any of this user's files.
 */
const forLock =
  constants.O_RDWR | constants.O_CREAT | constants.O_APPEND | constants.O_NOFOLLOW | constants.O_NONBLOCK;

const openForLock = (path: string): Promise<FileHandle> =>
  writing(path, async () => {
    await mkdir(dirname(path), { recursive: true });
    return await open(path, forLock);
  });

/** Waits for a file's lock. @throws WRITE_FAILED, INTERRUPTED */
export const lockFile = async (path: string, signal?: AbortSignal): Promise<LockedFile> => {
  for (;;) {
    checkInterrupt(signal);
    const locked = await lockNow(path);
    if (locked !== undefined) return locked;
    await delay(pause, undefined, signal === undefined ? {} : { signal }).catch(() => checkInterrupt(signal));
  }
};

export const withLock = async <T>(
  path: string,
  signal: AbortSignal | undefined,
  work: (locked: LockedFile) => Promise<T>,
): Promise<T> => {
  const locked = await lockFile(path, signal);
  try {
    return await work(locked);
  } finally {
    await locked.file.close();
  }
};
