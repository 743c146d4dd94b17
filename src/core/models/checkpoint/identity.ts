import { createHash } from 'node:crypto';
import { constants, type FileHandle, open } from 'node:fs/promises';
import { checkInterrupt, LayerloomError, reasonOf } from '../../base/errors.js';
import type { FileIdentity, FileState } from './checkpoint.js';
import { readerOf } from './containers/containers.js';
import { readHeaderOf } from './containers/read-header.js';
import { withFewFiles } from './few-at-once.js';
import { readBlock } from './read-block.js';

/** Blocks that are read of a file, at equal distances, and their size. */
const samples = 64;
const sampleBytes = 4096;

/** Bytes read at once to hash a whole file. */
const chunkBytes = 1024 * 1024;

/** A file as the system numbered and dated it. */
export interface FileStamp {
  /** Nanoseconds, in decimal. */
  readonly mtimeNs: string;
  /** Inode number, in decimal. */
  readonly ino: string;
}

/** Returns the stamp of an open file. */
const stampOf = async (handle: FileHandle, { mtimeNs }: FileIdentity): Promise<FileStamp> => ({
  mtimeNs,
  ino: String((await handle.stat({ bigint: true })).ino),
});

/**
 * Identifies a file's content without reading all of it: by size, modification time, inode number, header
 * and sampled blocks, as a hash in hexadecimal. Two files of one header that were written in one tick of the
 * file system's clock, and differ only between the samples, are two inodes.
 */
const sampleIdentity = async (
  handle: FileHandle,
  { bytes, header }: FileIdentity,
  { mtimeNs, ino }: FileStamp,
): Promise<string> => {
  const hash = createHash('sha256').update(`sampled ${bytes} ${mtimeNs} ${ino} ${header}\n`);
  const block = Buffer.alloc(sampleBytes);
  for (let sample = 0; sample < samples; sample += 1) {
    const position = Math.floor((Math.max(0, bytes - sampleBytes) * sample) / (samples - 1));
    hash.update(await readBlock(handle, block, position));
  }
  return hash.digest('hex');
};

/** Identifies a file by the hash that the hub states of it: bytes that are not here yet cannot be sampled. */
const statedIdentity = (content: string): string =>
  createHash('sha256').update(`hub ${content}\n`).digest('hex');

/** Returns the SHA-256 of all of a file that the hub states of it; undefined where it states another hash. */
export const statedSha256 = ({ content }: FileIdentity): string | undefined =>
  content !== undefined && /^[0-9a-f]{64}$/.test(content) ? content : undefined;

/** The SHA-256 of all of a file, in hexadecimal. @throws LayerloomError INTERRUPTED */
const fullIdentity = async (handle: FileHandle, signal?: AbortSignal): Promise<string> => {
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
  Record<FileState['hashOf'], (handle: FileHandle, file: FileIdentity) => Promise<string>>
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

/** @throws LayerloomError INPUT_CHANGED; READ_FAILED in place of what the system says */
const reading = async <T>({ path }: FileIdentity, work: () => Promise<T>): Promise<T> => {
  try {
    return await work();
  } catch (cause) {
    if (cause instanceof LayerloomError) throw cause;
    throw new LayerloomError('READ_FAILED', { file: path, reason: reasonOf(cause) }, { cause });
  }
};

/** The file's status, its size and modification time being those of its identity. */
const statOf = async (handle: FileHandle, file: FileIdentity) => {
  const now = await handle.stat({ bigint: true });
  if (now.size !== BigInt(file.bytes))
    throw changed(file, `has changed from ${file.bytes} to ${now.size} bytes`);
  // Times and links change as other runs fetch more of it, and its bytes are those that the hub states.
  if (file.content !== undefined) return { ctimeNs: '0', links: 1 };
  if (String(now.mtimeNs) !== file.mtimeNs) throw changed(file, 'has been written');
  return { ctimeNs: String(now.ctimeNs), links: Number(now.nlink) };
};

/**
 * Takes the state of a file before its first weight is read.
 *
 * @param handle of the file, open for reading
 * @throws LayerloomError INPUT_CHANGED where it is no longer the file that was identified; READ_FAILED
 */
export const observe = (
  handle: FileHandle,
  file: FileIdentity,
  hashOf: FileState['hashOf'] = 'samples',
): Promise<FileState> =>
  reading(file, async () => {
    // The status first: whatever is written after it shows in the next one.
    const status = await statOf(handle, file);
    const { hash } = await readHeaderOf(readerOf(file.path), handle, file.path, file.bytes);
    if (hash !== file.header) throw changed(file, 'has another header');
    return { ...status, hash: await hashBy[hashOf](handle, file), hashOf };
  });

/** `observe`, of a file that is not open. */
export const observePath = (file: FileIdentity, hashOf: FileState['hashOf']): Promise<FileState> =>
  withFewFiles(() =>
    reading(file, async () => {
      const handle = await open(file.path, constants.O_RDONLY | constants.O_NONBLOCK);
      try {
        return await observe(handle, file, hashOf);
      } finally {
        await handle.close();
      }
    }),
  );

/** Reads a file that must be what it was when it was identified, before and after. @throws LayerloomError INPUT_CHANGED, READ_FAILED */
const readUnchanged = <T>(file: FileIdentity, read: (handle: FileHandle) => Promise<T>): Promise<T> =>
  withFewFiles(() =>
    reading(file, async () => {
      const handle = await open(file.path, constants.O_RDONLY | constants.O_NONBLOCK);
      try {
        await statOf(handle, file);
        const found = await read(handle);
        await statOf(handle, file);
        return found;
      } finally {
        await handle.close();
      }
    }),
  );

/**
 * Reads all of a file. Returns its SHA-256 in hexadecimal and its stamp.
 *
 * @throws LayerloomError INPUT_CHANGED, READ_FAILED, INTERRUPTED
 */
export const contentOf = (
  file: FileIdentity,
  signal?: AbortSignal,
): Promise<FileStamp & { readonly sha256: string }> =>
  readUnchanged(file, async (handle) => ({
    sha256: await fullIdentity(handle, signal),
    ...(await stampOf(handle, file)),
  }));

/** Returns the identity by samples that a file's content has under another stamp. @throws LayerloomError INPUT_CHANGED, READ_FAILED */
export const identityUnder = (file: FileIdentity, stamp: FileStamp): Promise<string> =>
  readUnchanged(file, (handle) => sampleIdentity(handle, file, stamp));

/**
 * Returns the state of a file whose content is still what it was in the state `before`. Linking moves the
 * status-change time too: where the number of links has changed, or this process may have linked the file,
 * its content is hashed once more; so it is wherever `before` has a hash of all bytes. A status-change time
 * that moved for no such reason counts as a write whose modification time was put back.
 *
 * @param relinked whether this process has made or removed links of the file since
 * @throws LayerloomError INPUT_CHANGED, READ_FAILED
 */
export const observeAgain = (
  handle: FileHandle,
  file: FileIdentity,
  before: FileState,
  relinked: boolean,
): Promise<FileState> =>
  reading(file, async () => {
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
