import { constants, type FileHandle, mkdir, open, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { checkInterrupt, LayerloomError, reasonOf } from '../../../base/errors.js';
import { tryLock } from '../../../native/addon.js';

/** Milliseconds between two attempts to take a lock. */
const pause = 100;

/** A file with its exclusive lock. `unsupported` where the file system has none: then nothing is excluded. */
export interface LockedFile {
  readonly file: FileHandle;
  readonly state: 'taken' | 'unsupported';
}

/**
 * Opens a file, made where it is missing, and takes its lock; undefined where another process holds it. The
 * lock is held until the file is closed.
 *
 * @throws LayerloomError WRITE_FAILED
 */
export const lockNow = async (path: string): Promise<LockedFile | undefined> => {
  for (;;) {
    const file = await openForLock(path);
    const state = tryLock(file.fd);
    const [held, named] = await Promise.all([
      file.stat().catch(async (cause: unknown) => {
        await file.close();
        throw lockFailed(path, cause);
      }),
      stat(path).catch(() => undefined),
    ]);
    // Removed between opening and locking: the path names another file, or none.
    const isNamed = named?.ino === held.ino && named.dev === held.dev;
    if (state !== 'held elsewhere' && isNamed) return { file, state };
    await file.close();
    if (state === 'held elsewhere') return undefined;
  }
};

/** As `a+`; a link is not followed, which in a folder that users share may lead to any file of this one. */
const forLock =
  constants.O_RDWR | constants.O_CREAT | constants.O_APPEND | constants.O_NOFOLLOW | constants.O_NONBLOCK;

const openForLock = async (path: string): Promise<FileHandle> => {
  try {
    await mkdir(dirname(path), { recursive: true });
    return await open(path, forLock);
  } catch (cause) {
    throw lockFailed(path, cause);
  }
};

const lockFailed = (file: string, cause: unknown): LayerloomError =>
  new LayerloomError('WRITE_FAILED', { file, reason: reasonOf(cause) }, { cause });

/** Takes the lock of a file, waiting for a process that holds it. @throws LayerloomError WRITE_FAILED, INTERRUPTED */
export const lockFile = async (path: string, signal?: AbortSignal): Promise<LockedFile> => {
  for (;;) {
    checkInterrupt(signal);
    const locked = await lockNow(path);
    if (locked !== undefined) return locked;
    await delay(pause, undefined, signal === undefined ? {} : { signal }).catch(() => checkInterrupt(signal));
  }
};

/** Does `work` under a file's lock. */
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
