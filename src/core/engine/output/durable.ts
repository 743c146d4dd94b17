import { randomUUID } from 'node:crypto';
import {
  access,
  constants,
  copyFile,
  type FileHandle,
  link,
  mkdir,
  open,
  readlink,
  realpath,
  rename,
  rm,
  rmdir,
  stat,
  writeFile,
} from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { codeOf, withPath } from '../../base/errors/errors.js';
import { removeAbandoned } from '../../base/files/abandoned.js';
import { writeFailed, writing } from '../../base/files/writing.js';

export const withFile = async <T>(
  path: string,
  flags: string | number,
  use: (file: FileHandle) => Promise<T>,
): Promise<T> => {
  const file = await open(path, flags);
  try {
    const result = await use(file);
    await file.close();
    return result;
  } catch (error) {
    // Reports the error of `use`, not of closing.
    await file.close().catch(() => undefined);
    throw withPath(error, path);
  }
};

const appending =
  constants.O_WRONLY | constants.O_CREAT | constants.O_APPEND | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/**
 * Opens a file to append, creating it if needed. Never follows links or waits on pipes, because anyone may
 * write in the folder.
 *
 * @throws WRITE_FAILED
 */
export const openToAppend = (path: string): Promise<FileHandle> => writing(path, () => open(path, appending));

/**
 * Returns a file's size; closes it on failure.
 *
 * @throws WRITE_FAILED
 */
export const sizeOf = async (file: FileHandle, path: string): Promise<number> => {
  try {
    return (await file.stat()).size;
  } catch (cause) {
    await file.close().catch(() => undefined);
    throw writeFailed(path, cause);
  }
};

type Content = string | Uint8Array | Iterable<string | Uint8Array>;

/**
 * Writes and syncs a file. The name is durable only after `syncDirectory`.
 *
 * @param mode default: the process's
 */
export const writeDurably = (path: string, content: Content, mode?: number): Promise<void> =>
  withFile(path, 'w', async (file) => {
    if (mode !== undefined) await file.chmod(mode);
    const isOne = typeof content === 'string' || content instanceof Uint8Array;
    for (const part of isOne ? [content] : content) await file.writeFile(part);
    await file.sync();
  });

/**
 * Replaces a file by a rename, which is durable after `syncDirectory`.
 *
 * @param partial temporary path; its pattern identifies leftovers of killed writers
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
    await rm(partial, { force: true }).catch(() => undefined);
    throw error;
  }
};

const partialEnd = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\.partial$/;

/** Renames a file; fails with EEXIST if the name is taken. */
const renameToFree = async (from: string, to: string): Promise<void> => {
  try {
    await link(from, to);
  } catch (error) {
    // Codes of file systems without hard links.
    if (!['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'].includes(codeOf(error) ?? '')) throw error;
    await (await open(to, 'wx')).close();
    await rename(from, to).catch(async (failure: unknown) => {
      await rm(to);
      throw failure;
    });
    return;
  }
  await rm(from);
};

/** Resolves symbolic links. For a link to a missing file, returns that file's path. */
const placeOf = async (file: string): Promise<string> => {
  try {
    return await realpath(file);
  } catch {
    const target = await readlink(file).catch(() => undefined);
    return target === undefined ? file : resolve(dirname(file), target);
  }
};

/** Codes after which writing in place may work although the file cannot be replaced. */
const inPlaceErrors = ['EACCES', 'EPERM', 'EBUSY', 'ENAMETOOLONG'];

/**
 * Writes a user's file durably and atomically, following links. Writes in place if the file cannot be
 * replaced: a special file such as a pipe, a file with several hard links or another owner, or a file in a folder that
 * refuses new files.
 *
 * @param isNew fail, with EEXIST as the cause, if the name is taken
 * @throws WRITE_FAILED
 */
export const writeWhole = (file: string, content: Content, isNew = false): Promise<void> =>
  writing(file, () => replaceOrWrite(file, content, isNew));

const replaceOrWrite = async (file: string, content: Content, isNew: boolean): Promise<void> => {
  const path = isNew ? file : await placeOf(file);
  const foundNow = () => stat(path).catch(() => undefined);
  const before = isNew ? undefined : await foundNow();
  if (before !== undefined && !before.isFile()) return await writeFile(path, content);
  // First removes a killed writer's partial file, which may be a hard link to this file.
  await removeAbandoned(path, { begin: `.${basename(path)}.`, end: partialEnd });
  const found = isNew ? undefined : await foundNow();
  if (found !== undefined && (found.nlink > 1 || found.uid !== process.getuid?.()))
    return await writeDurably(path, content);
  const partial = join(dirname(path), `.${basename(path)}.${randomUUID()}.partial`);
  let isWritten = false;
  try {
    await writeDurably(partial, content, found === undefined ? undefined : found.mode & 0o7777);
    isWritten = true;
    await (isNew ? renameToFree : rename)(partial, path);
  } catch (error) {
    try {
      const isRefused = inPlaceErrors.includes(codeOf(error) ?? '');
      if (!isRefused || (found === undefined && codeOf(error) !== 'ENAMETOOLONG') || isNew) throw error;
      // Copies the partial file, because an iterable `content` can be read only once.
      await (isWritten ? copyFile(partial, path) : writeDurably(path, content));
    } finally {
      await rm(partial, { force: true }).catch(() => undefined);
    }
  }
  // A writable but unreadable folder cannot be synced.
  await syncDirectory(dirname(path)).catch((error: unknown) => {
    if (codeOf(error) !== 'EACCES') throw error;
  });
};

/** Makes creations, renames and removals in a directory durable. */
export const syncDirectory = (directory: string): Promise<void> =>
  withFile(directory, 'r', (file) => file.sync());

/** Directories made by each running work. Async hooks would slow every promise. */
const running = new Set<string[]>();

/** Runs `work`; if it fails, removes the empty directories that only it can have made. */
export const orNoDirectories = async <T>(work: () => Promise<T>): Promise<T> => {
  const made: string[] = [];
  running.add(made);
  try {
    return await work().finally(() => running.delete(made));
  } catch (error) {
    const others = [...running].flat();
    for (const directory of made.reverse().filter((one) => !others.includes(one)))
      await rmdir(directory).catch(() => undefined); // The directory may have content.
    throw error;
  }
};

/**
 * Makes a directory and missing ancestors. Node's `recursive` loops forever on file systems such as /proc,
 * which answer ENOENT although the parent exists.
 *
 * @param durably fsync the parents of new directories
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
  try {
    await mkdir(path);
    for (const made of running) made.push(path);
  } catch (error) {
    // Another process may have made the directory meanwhile.
    if (codeOf(error) !== 'EEXIST' || !(await exists(path))) throw error;
  }
  if (durably) await syncDirectory(parent);
};

export const existingAbove = async (path: string): Promise<string> => {
  const found = await stat(path).catch(() => undefined);
  return found === undefined && dirname(path) !== path ? await existingAbove(dirname(path)) : path;
};

/**
 * Checks without writing that a directory, if it exists, is writable.
 *
 * @throws WRITE_FAILED
 */
export const checkWritable = async (directory: string): Promise<void> => {
  const above = await existingAbove(directory);
  await writing(directory, async () => {
    if (!(await stat(above)).isDirectory()) throw new Error(`${above} is not a directory`);
    await access(above, constants.W_OK | constants.X_OK);
  });
};
