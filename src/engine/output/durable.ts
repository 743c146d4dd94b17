import { randomUUID } from 'node:crypto';
import { access, constants, type FileHandle, mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { LayerloomError, reasonOf } from '../../base/errors.js';

/** Calls `use` with an open file, and closes it also where `use` throws. */
export const withFile = async <T>(
  path: string,
  flags: string | number,
  use: (file: FileHandle) => Promise<T>,
): Promise<T> => {
  const file = await open(path, flags);
  try {
    return await use(file);
  } finally {
    await file.close();
  }
};

const appending =
  constants.O_WRONLY | constants.O_CREAT | constants.O_APPEND | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/**
 * Opens a file to append to it, and creates it if there is none. In a folder of somebody else's a link or a pipe may stand
 * in its place: a link is not followed, and a pipe not waited for.
 *
 * @throws LayerloomError WRITE_FAILED
 */
export const openToAppend = async (path: string): Promise<FileHandle> => {
  try {
    return await open(path, appending);
  } catch (cause) {
    throw new LayerloomError('WRITE_FAILED', { file: path, reason: reasonOf(cause) }, { cause });
  }
};

/** Writes and fsyncs a file. Its name is durable only after `syncDirectory` of its directory. */
export const writeDurably = (path: string, content: string | Uint8Array): Promise<void> =>
  withFile(path, 'w', async (file) => {
    await file.writeFile(content);
    await file.sync();
  });

/**
 * Writes a file beside its place and renames it, so that readers find the former one or the new one, whole. Its name is
 * durable only after `syncDirectory` of its directory.
 *
 * @param partial its path meanwhile, by which leftovers of killed writers are known
 */
export const replaceFile = async (
  path: string,
  content: string | Uint8Array,
  partial = `${path}.${randomUUID()}`,
): Promise<void> => {
  try {
    await writeDurably(partial, content);
    await rename(partial, path);
  } catch (error) {
    await rm(partial, { force: true });
    throw error;
  }
};

/** Fsyncs a directory, which makes creations, renames and removals in it durable. */
export const syncDirectory = (directory: string): Promise<void> =>
  withFile(directory, 'r', (file) => file.sync());

/**
 * Creates a directory and its missing ancestors. Replaces Node's `recursive`, which loops forever where a
 * file system answers ENOENT although the parent exists, as /proc does.
 *
 * @param durably fsync the parents of the directories that it creates
 */
export const makeDirectories = async (path: string, durably = false): Promise<void> => {
  const exists = (directory: string) =>
    stat(directory).then(
      (found) => found.isDirectory(),
      () => false,
    );
  if (await exists(path)) return;
  const parent = dirname(path);
  if (!(await exists(parent)) && parent !== path) await makeDirectories(parent, durably);
  await mkdir(path).catch(async (error: NodeJS.ErrnoException) => {
    // Another process may have created it in the meantime.
    if (error.code !== 'EEXIST' || !(await exists(path))) throw error;
  });
  if (durably) await syncDirectory(parent);
};

/** Returns a directory, or its nearest ancestor that is there. */
export const existingAbove = async (path: string): Promise<string> => {
  const found = await stat(path).catch(() => undefined);
  return found === undefined && dirname(path) !== path ? await existingAbove(dirname(path)) : path;
};

/**
 * Checks that a directory could be made, or written to where it is there, and writes nothing.
 *
 * @throws LayerloomError WRITE_FAILED
 */
export const checkWritable = async (directory: string): Promise<void> => {
  const above = await existingAbove(directory);
  const refuse = (reason: string, cause?: unknown) =>
    new LayerloomError('WRITE_FAILED', { file: directory, reason }, { cause });
  if (!(await stat(above)).isDirectory()) throw refuse(`${above} is not a directory`);
  await access(above, constants.W_OK | constants.X_OK).catch((cause: unknown) => {
    throw refuse(reasonOf(cause), cause);
  });
};
