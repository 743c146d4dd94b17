import { randomUUID } from 'node:crypto';
import {
  access,
  constants,
  type FileHandle,
  link,
  lstat,
  mkdir,
  open,
  readdir,
  realpath,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { codeOf, LayerloomError, reasonOf, withPath } from '../../base/errors.js';

/** Calls `use` with an open file, and closes it also where `use` throws. */
export const withFile = async <T>(
  path: string,
  flags: string | number,
  use: (file: FileHandle) => Promise<T>,
): Promise<T> => {
  const file = await open(path, flags);
  try {
    return await use(file);
  } catch (error) {
    throw withPath(error, path);
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

/** What is written to a file, in one part or several. */
type Content = string | Uint8Array | Iterable<string | Uint8Array>;

/** Writes and fsyncs a file. Its name is durable only after `syncDirectory` of its directory. */
export const writeDurably = (path: string, content: Content): Promise<void> =>
  withFile(path, 'w', async (file) => {
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

/** Age of a partial file after which its writer was killed: a file takes seconds. */
const abandonedMs = 120_000;

const partialEnd = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\.partial$/;

/** Removes the partial files of `writeWhole` that killed writers of a file left. */
const removeAbandoned = async (path: string): Promise<void> => {
  const begin = `.${basename(path)}.`;
  for (const name of await readdir(dirname(path)).catch((): string[] => [])) {
    if (!name.startsWith(begin) || !partialEnd.test(name.slice(begin.length))) continue;
    const partial = join(dirname(path), name);
    const found = await lstat(partial).catch(() => undefined);
    if (found?.isFile() && Date.now() - found.mtimeMs > abandonedMs) await rm(partial, { force: true });
  }
};

/** Gives a file another name, which must be free: EEXIST otherwise. */
const renameToFree = async (from: string, to: string): Promise<void> => {
  try {
    await link(from, to);
  } catch (error) {
    // A file system without hard links.
    if (!['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'].includes(codeOf(error) ?? '')) throw error;
    await (await open(to, 'wx')).close();
    await rename(from, to);
    return;
  }
  await rm(from);
};

/**
 * Writes a file that a user names, durably: it is there whole or not at all, also where the process is killed. What is no
 * regular file, such as a pipe, is written to; a link is followed.
 *
 * @param isNew fail with EEXIST where the name is taken
 * @throws as the system does
 */
export const writeWhole = async (file: string, content: Content, isNew = false): Promise<void> => {
  const path = isNew ? file : await realpath(file).catch(() => file);
  const found = isNew ? undefined : await stat(path).catch(() => undefined);
  if (found !== undefined && !found.isFile()) return await writeFile(path, content);
  await removeAbandoned(path);
  const partial = join(dirname(path), `.${basename(path)}.${randomUUID()}.partial`);
  try {
    await writeDurably(partial, content);
    await (isNew ? renameToFree : rename)(partial, path);
    await syncDirectory(dirname(path));
  } catch (error) {
    // The first error is the one to report.
    await rm(partial, { force: true }).catch(() => undefined);
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
