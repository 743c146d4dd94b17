import type { Stats } from 'node:fs';
import { constants, type FileHandle, open, readdir, readlink, realpath } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { codeOf, LayerloomError, reasonOf, withPath } from '../../base/errors.js';
import { isUnreadable } from '../../base/unless-missing.js';

interface Limit {
  /** Bytes that are read at most. */
  readonly most: number;
  /** Such a file, as messages call it, and what to do with one that is larger. */
  readonly what: string;
  readonly remedy?: string;
  /** True if it may be a pipe, whose other end is waited for, as a file that a user names (`/dev/stdin`) may. */
  readonly pipes?: boolean;
}

/**
 * The largest tokenizers and shard indexes have about 40 MB; what is larger than this was put there by
 * mistake or has no end, and would fill the memory.
 */
const usual: Limit = { most: 256 * 1024 * 1024, what: 'such a file' };
export const mostSideFileBytes = usual.most;
const besideWeights: Limit = {
  ...usual,
  what: 'a file beside weights',
  remedy: '; remove it, or put a smaller one in its place',
};

/**
 * Reads a file that is not weights: one that a user names, or that layerloom wrote. It must be a regular file
 * or a link to one; a pipe is refused without waiting for its other end, unless `limit` allows it. Checked
 * and read through one descriptor, and no further than the limit, whatever size it claims.
 *
 * @throws as the system does, also for what is refused here: `reasonOf` gives the reason
 */
export const readSmallFile = (path: string, limit = usual): Promise<Buffer> =>
  unlessStale(async () =>
    withRegularFile(path, await open(path, limit.pipes ? 'r' : reading), limit, (file, bytes) =>
      readAll(path, file, bytes, limit),
    ),
  );

/** `readSmallFile`; undefined where there is none, and of what it refuses, such as a folder. @throws LayerloomError READ_FAILED */
export const readFileIfAny = (path: string, limit = usual): Promise<Buffer | undefined> =>
  readSmallFile(path, limit).catch((cause: unknown) => {
    if (!isUnreadable(cause)) return undefined;
    throw new LayerloomError('READ_FAILED', { file: path, reason: reasonOf(cause) }, { cause });
  });

/** Over NFS a file that another host has replaced since it was opened is read again: its name leads to what is there now. */
const unlessStale = async <T>(read: () => Promise<T>): Promise<T> => {
  for (let left = 3; ; left -= 1)
    try {
      return await read();
    } catch (error) {
      if (codeOf(error) !== 'ESTALE' || left === 1) throw error;
    }
};

/**
 * Reads a file that stands beside a checkpoint's weights, whose directory may come from strangers: like
 * `readSmallFile`, and a link must lead to a file that may be meant for the checkpoint (`mayBeLinked`).
 *
 * @throws LayerloomError READ_FAILED
 */
export const readSideFile = (path: string): Promise<Buffer> =>
  withSideFile(path, (file, bytes) => readAll(path, file, bytes, besideWeights));

/** Refuses what `readSideFile` would refuse before it reads. @throws LayerloomError READ_FAILED */
export const checkSideFile = (path: string): Promise<void> => withSideFile(path, async () => undefined);

/** Without waiting for a pipe's other end. */
const reading = constants.O_RDONLY | constants.O_NONBLOCK;

const withSideFile = async <T>(
  path: string,
  use: (file: FileHandle, bytes: number) => Promise<T>,
): Promise<T> => {
  try {
    return await unlessStale(async () => withRegularFile(path, await openBeside(path), besideWeights, use));
  } catch (cause) {
    throw new LayerloomError('READ_FAILED', { file: path, reason: reasonOf(cause) }, { cause });
  }
};

/**
 * A link's target is opened by its own name and followed no further, so that it is the file whose name was
 * looked at.
 */
const openBeside = async (path: string): Promise<FileHandle> => {
  try {
    return await open(path, reading | constants.O_NOFOLLOW);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ELOOP') throw error;
  }
  const target = await realpath(path);
  if (!(await mayBeLinked(path, target)))
    throw refusal(
      path,
      `it is a link to ${target}, a file of another name or beside no model, and in no hub cache; if that belongs to the checkpoint, put a copy of it in the link's place`,
    );
  const file = await open(target, reading | constants.O_NOFOLLOW);
  // A directory above it may have become a link since; where there is no /proc to tell, its name is still the
  // one looked at.
  if ((await readlink(`/proc/self/fd/${file.fd}`).catch(() => target)) === target) return file;
  await file.close();
  throw refusal(path, `its target ${target} was replaced while it was opened; run again`);
};

/** Directories whose files are named by their content: the hub's cache, what its models share, and a store of shards. */
const contentAddressed = [
  /\/(models|datasets|spaces)--[^/]+\/blobs\/[^/]+$/,
  /\/blobs\/(?<prefix>[0-9a-f]{2})\/\k<prefix>[0-9a-f]{62}$/,
  /\/shards\/[0-9a-f]{2}\/[0-9a-f]{16,}\.\w+$/,
];

/** Names that other programs give their own files too, some of which hold secrets: `~/.docker/config.json`. */
const isCommonName = (name: string): boolean => /^(config|params)\.json$|\.py$/.test(name);

/** Files that stand in the folders of models alone. */
const isOfModels = (name: string): boolean =>
  /\.(safetensors|bin|pth?|gguf)$|^(tokenizer|adapter|generation|preprocessor)_?\w*\.(json|model)$/.test(
    name,
  );

/**
 * A link from a stranger must not bring just any file of this machine into an output: its target has the same
 * name, stands in the same directory, or is named by its content. One of a common name stands beside a model's files.
 */
const mayBeLinked = async (path: string, target: string): Promise<boolean> => {
  const folder = dirname(target);
  if (folder === (await realpath(dirname(path)))) return true;
  if (contentAddressed.some((pattern) => pattern.test(target))) return true;
  if (basename(target) !== basename(path)) return false;
  return !isCommonName(basename(path)) || (await readdir(folder)).some(isOfModels);
};

/** Calls `use` with a file that was found to be regular, and its size; closes it, however that ends. */
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

/** Reads an open file to its end: Node's `readFile` ends at the first read that gives fewer bytes than asked for. */
export const readOpenFile = (path: string, file: FileHandle): Promise<Buffer> =>
  readAll(path, file, 4095, usual);

/** Reads to the end, which may lie behind `bytes`: files grow, and those of /proc claim to have none. */
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

/** An error as Node's file system gives them. */
const refusal = (path: string, reason: string): Error => new Error(`${reason}, open '${path}'`);
