import { createHash } from 'node:crypto';
import { checkInterrupt, LayerloomError } from '../../../base/errors/errors.js';
import { reading } from '../../../base/files/writing.js';
import type { FileIdentity, FileState } from '../checkpoint.js';
import { readerOf } from '../containers/containers.js';
import { readHeaderOf } from '../containers/read-header.js';
import { withFewFiles } from '../files/few-at-once.js';
import { isInMemory, type OpenInput, openInput } from '../files/open-input.js';
import { readBlock, readBlockNow } from '../files/read-block.js';

const samples = 64;
const sampleBytes = 4096;

/** Maximum size of a file that is sampled synchronously. */
const mostAtHand = 16 * 1024 * 1024;

const chunkBytes = 1024 * 1024;

export interface FileStamp {
  readonly mtimeNs: string;
  readonly ino: string;
}

const stampOf = async (handle: OpenInput, { mtimeNs }: FileIdentity): Promise<FileStamp> => ({
  mtimeNs,
  ino: String((await handle.stat({ bigint: true })).ino),
});

/**
 * Identifies a file without reading all of it: a hex hash of size, mtime, inode, header and sampled blocks.
 * The inode tells apart files written in the same clock tick that differ only between samples.
 */
const sampleIdentity = async (
  handle: OpenInput,
  { path, bytes, header }: FileIdentity,
  { mtimeNs, ino }: FileStamp,
): Promise<string> => {
  const isAtHand = bytes <= mostAtHand && !isInMemory(path);
  const hash = createHash('sha256').update(`sampled ${bytes} ${mtimeNs} ${ino} ${header}\n`);
  const block = Buffer.alloc(sampleBytes);
  for (let sample = 0; sample < samples; sample += 1) {
    const at = Math.floor((Math.max(0, bytes - sampleBytes) * sample) / (samples - 1));
    hash.update(isAtHand ? readBlockNow(handle.fd, block, at) : await readBlock(handle, block, at));
  }
  return hash.digest('hex');
};

/** Identifies a file by the hub's hash: missing bytes have no samples. */
const statedIdentity = (content: string): string =>
  createHash('sha256').update(`hub ${content}\n`).digest('hex');

/** Returns the hub's SHA-256 of the whole file, if stated. */
export const statedSha256 = ({ content }: FileIdentity): string | undefined =>
  content !== undefined && /^[0-9a-f]{64}$/.test(content) ? content : undefined;

const fullIdentity = async (handle: OpenInput, signal?: AbortSignal): Promise<string> => {
  const hash = createHash('sha256');
  const chunk = Buffer.allocUnsafeSlow(chunkBytes);
  for (let position = 0; ; ) {
    checkInterrupt(signal);
    const { bytesRead } = await handle.read(chunk, 0, chunkBytes, position);
    if (bytesRead === 0) return hash.digest('hex');
    hash.update(chunk.subarray(0, bytesRead));
    position += bytesRead;
  }
};

const hashBy: Readonly<
  Record<FileState['hashOf'], (handle: OpenInput, file: FileIdentity) => Promise<string>>
> = {
  samples: async (handle, file) =>
    file.content === undefined
      ? await sampleIdentity(handle, file, await stampOf(handle, file))
      : statedIdentity(file.content),
  bytes: async (handle, file) =>
    statedSha256(file) ??
    (file.content === undefined ? await fullIdentity(handle) : statedIdentity(file.content)),
};

const changed = ({ path }: FileIdentity, reason: string): LayerloomError =>
  new LayerloomError('INPUT_CHANGED', { file: path, reason });

const statOf = async (handle: OpenInput, file: FileIdentity) => {
  const now = await handle.stat({ bigint: true });
  if (now.size !== BigInt(file.bytes))
    throw changed(file, `has changed from ${file.bytes} to ${now.size} bytes`);
  // Ignores times and links, which change when other runs fetch more of the file.
  if (file.content !== undefined) return { ctimeNs: '0', links: 1 };
  if (String(now.mtimeNs) !== file.mtimeNs) throw changed(file, 'has been written');
  return { ctimeNs: String(now.ctimeNs), links: Number(now.nlink) };
};

/** Checks size and mtime alone. @throws INPUT_CHANGED, READ_FAILED */
export const checkTime = (handle: OpenInput, file: FileIdentity): Promise<undefined> =>
  reading(file.path, async () => void (await statOf(handle, file)));

/** Hashes a file's header. A given `config.json` counts as a header. */
const headerHashOf = async (handle: OpenInput, { path, bytes }: FileIdentity): Promise<string> =>
  path.endsWith('.json')
    ? await fullIdentity(handle)
    : (await readHeaderOf(readerOf(path), handle, path, bytes)).hash;

/**
 * Records a file's state before its first weight is read.
 *
 * @throws INPUT_CHANGED if it is no longer the identified file; READ_FAILED
 */
export const observe = (
  handle: OpenInput,
  file: FileIdentity,
  hashOf: FileState['hashOf'] = 'samples',
): Promise<FileState> =>
  reading(file.path, async () => {
    // Reads the status first, because a later write changes the next status.
    const status = await statOf(handle, file);
    if ((await headerHashOf(handle, file)) !== file.header) throw changed(file, 'has another header');
    return { ...status, hash: await hashBy[hashOf](handle, file), hashOf };
  });

const opened = <T>(file: FileIdentity, read: (handle: OpenInput) => Promise<T>): Promise<T> =>
  withFewFiles(() =>
    reading(file.path, async () => {
      await using handle = await openInput(file.path);
      return await read(handle);
    }),
  );

export const observePath = (file: FileIdentity, hashOf: FileState['hashOf']): Promise<FileState> =>
  opened(file, (handle) => observe(handle, file, hashOf));

/** Reads a file; checks before and after that it is unchanged. */
const readUnchanged = <T>(file: FileIdentity, read: (handle: OpenInput) => Promise<T>): Promise<T> =>
  opened(file, async (handle) => {
    await statOf(handle, file);
    const found = await read(handle);
    await statOf(handle, file);
    return found;
  });

/**
 * Reads a whole file. Returns its SHA-256 in hex, and its stamp.
 *
 * @throws INPUT_CHANGED, READ_FAILED, INTERRUPTED
 */
export const contentOf = (
  file: FileIdentity,
  signal?: AbortSignal,
): Promise<FileStamp & { readonly sha256: string }> =>
  readUnchanged(file, async (handle) => ({
    sha256: await fullIdentity(handle, signal),
    ...(await stampOf(handle, file)),
  }));

/**
 * Returns a file's sampled identity, computed with the time and inode of `stamp`. @throws LayerloomError
 * INPUT_CHANGED, READ_FAILED
 */
export const identityUnder = (file: FileIdentity, stamp: FileStamp): Promise<string> =>
  readUnchanged(file, (handle) => sampleIdentity(handle, file, stamp));

/**
 * Returns a file's new state if its content has not changed since `before`. Hashes the content again if
 * `before` has a full hash, or if links changed, because hard links change ctime too. Refuses other changes
 * of ctime, because mtime can be set back.
 *
 * @param relinked true if this process has added or removed links since
 * @throws INPUT_CHANGED, READ_FAILED
 */
export const observeAgain = (
  handle: OpenInput,
  file: FileIdentity,
  before: FileState,
  relinked: boolean,
): Promise<FileState> =>
  reading(file.path, async () => {
    const status = await statOf(handle, file);
    if (status.ctimeNs === before.ctimeNs) return before;
    const isExplained = relinked || status.links !== before.links || before.hashOf === 'bytes';
    if (!isExplained)
      throw changed(
        file,
        'has a new status-change time beside its old size and modification time: it was written and its time put back, or its mode or owner changed,',
      );
    if ((await hashBy[before.hashOf](handle, file)) !== before.hash) throw changed(file, 'has been written');
    return { ...before, ...status };
  });
