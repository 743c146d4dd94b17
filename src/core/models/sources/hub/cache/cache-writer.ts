import { createHash, type Hash } from 'node:crypto';
import { copyFile, link, mkdir, open, symlink, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { LayerloomError, reasonOf } from '../../../../base/errors.js';
import { exists } from '../../../../base/exists.js';
import { linkBelow } from '../../../../base/own-directory.js';
import { putInPlace } from '../../../../base/put-in-place.js';
import { withLock } from '../../ranges/lock.js';
import type { ListedFile } from '../../ranges/record.js';
import { modelFolder } from './hub-cache.js';
import { readRef } from './own-repository.js';

/** A commit of a model in the hub's cache, written as the hub's own library writes it. */
export interface HubCacheCommit {
  /** Root of the hub's cache. */
  readonly cache: string;
  readonly id: string;
  readonly commit: string;
}

/** The folder of a repository. */
export const repositoryPath = ({ cache, id }: Omit<HubCacheCommit, 'commit'>): string =>
  join(cache, modelFolder(id));

const locksPath = ({ cache, id }: HubCacheCommit): string => join(cache, '.locks', modelFolder(id));

/**
 * Refuses to write to a repository of which a folder leads elsewhere by a link that another user of the cache may have
 * placed. The cache itself, and the folder of the repository, may be links, as `readRef` has them.
 *
 * @throws LayerloomError WRITE_FAILED
 */
export const checkOwnFolders = (at: HubCacheCommit): void => {
  const repository = repositoryPath(at);
  const inside = [join(repository, 'blobs'), join(repository, 'refs'), snapshotPath(at)];
  const link =
    inside.map((folder) => linkBelow(repository, folder)).find((one) => one !== undefined) ??
    linkBelow(at.cache, locksPath(at));
  if (link !== undefined) throw new LayerloomError('WRITE_FAILED', { file: repository, reason: link });
};

/** The folder of a commit's files. */
export const snapshotPath = (at: HubCacheCommit): string => join(repositoryPath(at), 'snapshots', at.commit);

/** The place of a file in its commit's folder: a link to its blob. */
export const pointerPath = (at: HubCacheCommit, name: string): string =>
  join(snapshotPath(at), ...name.split('/'));

/** The place of a file's bytes. */
export const blobPath = (at: HubCacheCommit, { etag }: ListedFile): string =>
  join(repositoryPath(at), 'blobs', etag);

const failed = (file: string) => (cause: unknown) => {
  if (cause instanceof LayerloomError) throw cause;
  throw new LayerloomError('WRITE_FAILED', { file, reason: reasonOf(cause) }, { cause });
};

/** Makes a relative link at `path`, in place of what is there. */
export const placeLink = async (path: string, target: string): Promise<void> => {
  await mkdir(dirname(path), { recursive: true });
  await putInPlace(path, (temporary) => symlink(relative(dirname(path), target), temporary));
};

/** Before its name: a name of the cache without its bytes would be taken for a file that is here. */
const durably = { flush: true };

const copyDurably = async (from: string, to: string): Promise<void> => {
  await copyFile(from, to);
  const copy = await open(to, 'r+');
  try {
    await copy.sync();
  } finally {
    await copy.close();
  }
};

/** The locks that the hub's library takes too: a file is fetched by one process at a time. */
const lockPath = (at: HubCacheCommit, { etag }: ListedFile): string => join(locksPath(at), `${etag}.lock`);

/** Notes which commit a branch or tag is; a commit needs none. @throws LayerloomError WRITE_FAILED */
export const writeRef = async (at: HubCacheCommit, revision: string): Promise<void> => {
  if (revision === at.commit) return;
  const path = join(repositoryPath(at), 'refs', ...revision.split('/'));
  // One that is refused is replaced.
  if ((await readRef(repositoryPath(at), revision).catch(() => undefined)) === at.commit) return;
  await mkdir(dirname(path), { recursive: true })
    .then(() => putInPlace(path, (temporary) => writeFile(temporary, at.commit, durably)))
    .catch(failed(path));
};

/** Takes a file's bytes and says whether they are those that the hub's hash names. */
export interface ContentCheck {
  update(bytes: Buffer): void;
  /** @returns the hash that differs; undefined where it is right, and where the hub gives none */
  mismatch(): string | undefined;
}

/** Begins the hash by which Git, and the hub for small files, names a content of so many bytes. */
export const gitBlobHash = (bytes: number): Hash => createHash('sha1').update(`blob ${bytes}\0`);

/** Checks a file's content by SHA-256 where it is in large-file storage, else by Git's SHA-1. */
export const contentCheck = ({ etag, sha256, bytes }: ListedFile): ContentCheck => {
  const isGit = sha256 === undefined && /^[0-9a-f]{40}$/.test(etag);
  const hash = isGit ? gitBlobHash(bytes) : createHash('sha256');
  const expected = isGit ? etag : sha256;
  return {
    update: (chunk) => hash.update(chunk),
    mismatch: () => (expected === undefined || hash.digest('hex') === expected ? undefined : expected),
  };
};

/** Writes a blob, unless it is there, and the link to it. */
const placeFile = async (
  pointer: string,
  blob: string,
  content: Buffer | undefined,
  isOnlyWriter: { isOnlyWriter: boolean },
): Promise<void> => {
  if (content !== undefined) {
    await mkdir(dirname(blob), { recursive: true });
    await putInPlace(blob, (temporary) => writeFile(temporary, content, durably), isOnlyWriter);
  }
  await placeLink(pointer, blob);
};

/**
 * Puts a small file into the hub's cache, unless it is there.
 *
 * @param fetch gets its bytes, which are whole and verified
 * @throws LayerloomError WRITE_FAILED, what `fetch` throws
 */
export const putSmallFile = async (
  at: HubCacheCommit,
  file: ListedFile,
  signal: AbortSignal | undefined,
  fetch: () => Promise<Buffer>,
): Promise<void> => {
  const [pointer, blob] = [pointerPath(at, file.name), blobPath(at, file)];
  if (await exists(pointer)) return;
  await withLock(lockPath(at, file), signal, async ({ state }) => {
    // What cannot be fetched is not said to be unwritable.
    const content = (await exists(blob)) ? undefined : await fetch();
    await placeFile(pointer, blob, content, { isOnlyWriter: state === 'taken' }).catch(failed(pointer));
  });
};

/**
 * Puts a complete and verified file into the hub's cache under its blob's name, as a second name of the same
 * file, or a copy where the caches are on two file systems.
 *
 * @throws LayerloomError WRITE_FAILED
 */
export const putWholeFile = async (
  at: HubCacheCommit,
  file: ListedFile,
  from: string,
  signal: AbortSignal | undefined,
): Promise<void> => {
  const [pointer, blob] = [pointerPath(at, file.name), blobPath(at, file)];
  await withLock(lockPath(at, file), signal, async ({ state }) => {
    if (!(await exists(blob))) {
      await mkdir(dirname(blob), { recursive: true });
      const make = (temporary: string) => link(from, temporary).catch(() => copyDurably(from, temporary));
      await putInPlace(blob, make, { isOnlyWriter: state === 'taken' });
    }
    await placeLink(pointer, blob);
  }).catch(failed(pointer));
};
