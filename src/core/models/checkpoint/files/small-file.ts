import { closeSync, fstatSync, openSync, readSync, type Stats } from 'node:fs';
import { constants, type FileHandle, open, readdir, readlink, realpath } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { codeOf, withPath } from '../../../base/errors/errors.js';
import { isUnreadable } from '../../../base/files/unless-missing.js';
import { readFailed, reading } from '../../../base/files/writing.js';
import { extensions } from '../containers/extensions.js';

interface Limit {
  readonly most: number;
  readonly what: string;
  readonly remedy?: string;
  /** Allow a pipe, such as `/dev/stdin`; opening it blocks until a writer opens it. */
  readonly pipes?: boolean;
}

/** Keeps endless or misplaced files from filling memory. The largest real files have about 40 MB. */
const usual: Limit = { most: 256 * 1024 * 1024, what: 'such a file' };
export const mostSideFileBytes = usual.most;
const besideWeights: Limit = {
  ...usual,
  what: 'a file beside weights',
  remedy: '; remove it, or put a smaller one in its place',
};

/**
 * Reads a small file that layerloom wrote or a user names: a regular file or a link to one. Refuses a pipe
 * without blocking, unless `limit` allows it. Never reads past the limit.
 *
 * @throws system errors, also for refused files; `reasonOf` gives the reason
 */
export const readSmallFile = (path: string, limit = usual): Promise<Buffer> =>
  unlessStale(async () =>
    withRegularFile(path, await open(path, limit.pipes ? 'r' : withoutWaiting), limit, (file, bytes) =>
      readAll(path, file, bytes, limit),
    ),
  );

const mostAtHand = 16 * 1024 * 1024;

/**
 * Reads on this thread, which is faster for a small file in memory.
 *
 * @returns undefined if `readSmallFile` must read or refuse it
 */
export const readAtHand = (path: string): Buffer | undefined => {
  let file: number | undefined;
  try {
    file = openSync(path, withoutWaiting);
    const found = fstatSync(file);
    if (!found.isFile() || found.size > mostAtHand) return undefined;
    const content = Buffer.allocUnsafe(found.size + 1);
    const length = readSync(file, content, 0, content.length, 0);
    return length === found.size ? content.subarray(0, length) : undefined;
  } catch {
    return undefined;
  } finally {
    if (file !== undefined) closeSync(file);
  }
};

/**
 * Like `readSmallFile`, but undefined if the file is missing or refused.
 *
 * @throws READ_FAILED
 */
export const readFileIfAny = (path: string, limit = usual): Promise<Buffer | undefined> =>
  readSmallFile(path, limit).catch((cause: unknown) => {
    if (!isUnreadable(cause)) return undefined;
    throw readFailed(path, cause);
  });

/** Retries on ESTALE: over NFS, another host may replace a file that is open here. */
const unlessStale = async <T>(read: () => Promise<T>): Promise<T> => {
  for (let left = 3; ; left -= 1)
    try {
      return await read();
    } catch (error) {
      if (codeOf(error) !== 'ESTALE' || left === 1) throw error;
    }
};

/**
 * Reads a file beside a checkpoint's weights. The directory is untrusted, so a link must satisfy
 * `mayBeLinked`.
 *
 * @throws READ_FAILED
 */
export const readSideFile = (path: string): Promise<Buffer> =>
  withSideFile(path, (file, bytes) => readAll(path, file, bytes, besideWeights));

/** Checks what `readSideFile` checks, without reading. @throws READ_FAILED */
export const checkSideFile = (path: string): Promise<void> => withSideFile(path, async () => undefined);

/** Flags to open a file without blocking on a FIFO. */
const withoutWaiting = constants.O_RDONLY | constants.O_NONBLOCK;

const withSideFile = <T>(path: string, use: (file: FileHandle, bytes: number) => Promise<T>): Promise<T> =>
  reading(path, () =>
    unlessStale(async () => withRegularFile(path, await openBeside(path), besideWeights, use)),
  );

/** Resolves a link, then opens its target without following links, so that the opened path was checked. */
const openBeside = async (path: string): Promise<FileHandle> => {
  try {
    return await open(path, withoutWaiting | constants.O_NOFOLLOW);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ELOOP') throw error;
  }
  const target = await realpath(path);
  if (!(await mayBeLinked(path, target)))
    throw refusal(
      path,
      `it is a link to ${target}, a file of another name or beside no model, and in no hub cache; if that belongs to the checkpoint, put a copy of it in the link's place`,
    );
  const file = await open(target, withoutWaiting | constants.O_NOFOLLOW);
  // Detects a parent directory swapped for a link meanwhile; skipped without /proc.
  if ((await readlink(`/proc/self/fd/${file.fd}`).catch(() => target)) === target) return file;
  await file.close();
  throw refusal(path, `its target ${target} was replaced while it was opened; run again`);
};

/** Content-addressed directories: the hub's cache, blobs shared by its models, and a store of shards. */
const contentAddressed = [
  /\/(models|datasets|spaces)--[^/]+\/blobs\/[^/]+$/,
  /\/blobs\/(?<prefix>[0-9a-f]{2})\/\k<prefix>[0-9a-f]{62}$/,
  /\/shards\/[0-9a-f]{2}\/[0-9a-f]{16,}\.\w+$/,
];

/** Names that other programs also use, some for secrets: `~/.docker/config.json`. */
const isCommonName = (name: string): boolean => /^(config|params)\.json$|\.py$/.test(name);

const isOfModels = (name: string): boolean =>
  Object.values(extensions)
    .flat()
    .some((extension) => name.endsWith(extension)) ||
  /^(tokenizer|adapter|generation|preprocessor)_?\w*\.(json|model)$/.test(name);

/**
 * Keeps an untrusted link from bringing any file of this machine into an output. The target must be in the
 * same directory, be content-addressed, or have the same name; common names also need a model's files beside
 * them.
 */
const mayBeLinked = async (path: string, target: string): Promise<boolean> => {
  const folder = dirname(target);
  if (folder === (await realpath(dirname(path)))) return true;
  if (contentAddressed.some((pattern) => pattern.test(target))) return true;
  if (basename(target) !== basename(path)) return false;
  return !isCommonName(basename(path)) || (await readdir(folder)).some(isOfModels);
};

const withRegularFile = async <T>(
  path: string,
  file: FileHandle,
  limit: Limit,
  use: (file: FileHandle, bytes: number) => Promise<T>,
): Promise<T> => {
  try {
    const found = await file.stat();
    if (found.isDirectory()) throw refusal(path, 'EISDIR: illegal operation on a directory');
    if (!found.isFile() && !(limit.pipes && found.isFIFO()))
      throw refusal(path, `it is a ${kindOf(found)}; put a regular file in its place`);
    if (found.size > limit.most) throw tooLarge(path, `${found.size}`, limit);
    return await use(file, found.size);
  } catch (error) {
    throw withPath(error, path);
  } finally {
    await file.close();
  }
};

/** Reads an open file to its end. Node's `readFile` stops at the first short read. */
export const readOpenFile = (path: string, file: FileHandle): Promise<Buffer> =>
  readAll(path, file, 4095, usual);

/** Reads to the end, which may be past `bytes`: files grow, and /proc reports size 0. */
const readAll = async (path: string, file: FileHandle, bytes: number, limit: Limit): Promise<Buffer> => {
  let content = Buffer.allocUnsafe(bytes + 1);
  for (let length = 0; ; ) {
    const { bytesRead } = await file.read(
      content,
      length,
      Math.min(content.length - length, 2 ** 30),
      limit.pipes ? null : length,
    );
    if (bytesRead === 0) return content.subarray(0, length);
    length += bytesRead;
    if (length > limit.most) throw tooLarge(path, `more than ${limit.most}`, limit);
    if (length === content.length) content = Buffer.concat([content], Math.min(2 * length, limit.most) + 1);
  }
};

const kindOf = (found: Stats): string => {
  if (found.isFIFO()) return 'pipe';
  return found.isSocket() ? 'socket' : 'device';
};

const tooLarge = (path: string, bytes: string, { most, what, remedy = '' }: Limit): Error =>
  refusal(path, `it has ${bytes} bytes, and ${what} at most ${most}${remedy}`);

const refusal = (path: string, reason: string): Error => new Error(`${reason}, open '${path}'`);
