import { AsyncLocalStorage } from 'node:async_hooks';
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
import { removeAbandoned } from '../../base/abandoned.js';
import { codeOf, LayerloomError, reasonOf, withPath } from '../../base/errors.js';

/** Calls `use` with an open file, and closes it also where `use` throws. */
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
    // The first error is the one to report; a file that is closed stays so.
    await file.close().catch(() => undefined);
    throw withPath(error, path);
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

/** The size of a file that was opened to append to; closes it where it cannot be had. @throws LayerloomError WRITE_FAILED */
export const sizeOf = async (file: FileHandle, path: string): Promise<number> => {
  try {
    return (await file.stat()).size;
  } catch (cause) {
    await file.close().catch(() => undefined);
    throw new LayerloomError('WRITE_FAILED', { file: path, reason: reasonOf(cause) }, { cause });
  }
};

/** What is written to a file, in one part or several. */
type Content = string | Uint8Array | Iterable<string | Uint8Array>;

/**
 * Writes and fsyncs a file. Its name is durable only after `syncDirectory` of its directory.
 *
 * @param mode its permissions. Default: as the process has them
 */
export const writeDurably = (path: string, content: Content, mode?: number): Promise<void> =>
  withFile(path, 'w', async (file) => {
    if (mode !== undefined) await file.chmod(mode);
    const isOne = typeof content === 'string' || content instanceof Uint8Array;
    for (const part of isOne ? [content] : content) await file.writeFile(part);
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
    // The first error is the one to report.
    await rm(partial, { force: true }).catch(() => undefined);
    throw error;
  }
};

/** Of names of partial files, behind a dot, the file's name and another dot. */
const partialEnd = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\.partial$/;

/** Gives a file another name, which must be free: EEXIST otherwise. */
const renameToFree = async (from: string, to: string): Promise<void> => {
  try {
    await link(from, to);
  } catch (error) {
    // A file system without hard links.
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

/** The file that a path leads to, through links: also where the last one leads to a file that is not there yet. */
const placeOf = async (file: string): Promise<string> => {
  try {
    return await realpath(file);
  } catch {
    const target = await readlink(file).catch(() => undefined);
    return target === undefined ? file : resolve(dirname(file), target);
  }
};

/** Errors of a file that cannot be put in another's place, and may be written to: of its folder, a mount, a long name. */
const inPlaceErrors = ['EACCES', 'EPERM', 'EBUSY', 'ENAMETOOLONG'];

/**
 * Writes a file that a user names, durably: it is there whole or not at all, also where the process is killed. A link is
 * followed. What a file of another name could not stand for is written to in its place: no regular file, such as a pipe; a
 * file of several names, or of another user; one whose folder takes no other.
 *
 * @param isNew fail with EEXIST where the name is taken
 * @throws as the system does
 */
export const writeWhole = async (file: string, content: Content, isNew = false): Promise<void> => {
  const path = isNew ? file : await placeOf(file);
  const foundNow = () => stat(path).catch(() => undefined);
  const before = isNew ? undefined : await foundNow();
  if (before !== undefined && !before.isFile()) return await writeFile(path, content);
  // A killed writer's may be a second name of the file itself.
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
      // What was written is taken from there: its parts may come once only.
      await (isWritten ? copyFile(partial, path) : writeDurably(path, content));
    } finally {
      await rm(partial, { force: true }).catch(() => undefined);
    }
  }
  // A folder that may be written to and not read cannot be synced.
  await syncDirectory(dirname(path)).catch((error: unknown) => {
    if (codeOf(error) !== 'EACCES') throw error;
  });
};

/** Fsyncs a directory, which makes creations, renames and removals in it durable. */
export const syncDirectory = (directory: string): Promise<void> =>
  withFile(directory, 'r', (file) => file.sync());

/** Directories that the work in progress has made, outer ones first. */
const madeHere = new AsyncLocalStorage<string[]>();

/** Does work; where it fails, removes the directories that it made and that are empty. */
export const orNoDirectories = async <T>(work: () => Promise<T>): Promise<T> => {
  const made: string[] = [];
  try {
    return await madeHere.run(made, work);
  } catch (error) {
    // A directory that is not empty stays, and so do those above it.
    for (const directory of made.reverse()) await rmdir(directory).catch(() => undefined);
    throw error;
  }
};

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
  try {
    await mkdir(path);
    madeHere.getStore()?.push(path);
  } catch (error) {
    // Another process may have created it in the meantime.
    if (codeOf(error) !== 'EEXIST' || !(await exists(path))) throw error;
  }
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
