import { createHash, type Hash } from 'node:crypto';
import { copyFile, link, mkdir, open, symlink, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { LayerloomError } from '../../../../base/errors/errors.js';
import { exists } from '../../../../base/files/exists.js';
import { linkBelow } from '../../../../base/files/own-directory.js';
import { putInPlace } from '../../../../base/files/put-in-place.js';
import { writing } from '../../../../base/files/writing.js';
import { withLock } from '../../ranges/folder/lock.js';
import type { ListedFile } from '../../ranges/folder/record.js';
import { modelFolder } from './hub-cache.js';
import { readRef } from './own-repository.js';

/** A model's commit in the hub's cache, written like the hub's library does. */
export interface HubCacheCommit {
  readonly cache: string;
  readonly id: string;
  readonly commit: string;
}

export const repositoryPath = ({ cache, id }: Omit<HubCacheCommit, 'commit'>): string =>
  join(cache, modelFolder(id));

const locksPath = ({ cache, id }: HubCacheCommit): string => join(cache, '.locks', modelFolder(id));

/**
 * Refuses to write below a repository if a folder in it is a link, which another user may have placed. The
 * cache and the repository's own folder may be links.
 *
 * @throws WRITE_FAILED
 */
export const checkOwnFolders = (at: HubCacheCommit): void => {
  const repository = repositoryPath(at);
  const inside = [join(repository, 'blobs'), join(repository, 'refs'), snapshotPath(at)];
  const link =
    inside.map((folder) => linkBelow(repository, folder)).find((one) => one !== undefined) ??
    linkBelow(at.cache, locksPath(at));
  if (link !== undefined) throw new LayerloomError('WRITE_FAILED', { file: repository, reason: link });
};

export const snapshotPath = (at: HubCacheCommit): string => join(repositoryPath(at), 'snapshots', at.commit);

/** Returns a file's path in its commit's folder, which is a link to its blob. */
export const pointerPath = (at: HubCacheCommit, name: string): string =>
  join(snapshotPath(at), ...name.split('/'));

export const blobPath = (at: HubCacheCommit, { etag }: ListedFile): string =>
  join(repositoryPath(at), 'blobs', etag);

export const placeLink = async (path: string, target: string): Promise<void> => {
  await mkdir(dirname(path), { recursive: true });
  await putInPlace(path, (temporary) => symlink(relative(dirname(path), target), temporary));
};

/** Flushes bytes before the name appears: a cached name without bytes would pass for a complete file. */
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

/** Returns the hub library's own lock, so that one process at a time fetches a file. */
const lockPath = (at: HubCacheCommit, { etag }: ListedFile): string => join(locksPath(at), `${etag}.lock`);

/** Records the commit of a branch or tag. @throws WRITE_FAILED */
export const writeRef = async (at: HubCacheCommit, revision: string): Promise<void> => {
  if (revision === at.commit) return;
  const path = join(repositoryPath(at), 'refs', ...revision.split('/'));
  if ((await readRef(repositoryPath(at), revision).catch(() => undefined)) === at.commit) return;
  await writing(path, async () => {
    await mkdir(dirname(path), { recursive: true });
    await putInPlace(path, (temporary) => writeFile(temporary, at.commit, durably));
  });
};

export interface ContentCheck {
  update(bytes: Buffer): void;
  /** @returns the expected hash if it differs; undefined if it matches, or the hub states none */
  mismatch(): string | undefined;
}

/** Starts the hash of a Git blob of this length, which the hub uses for small files. */
export const gitBlobHash = (bytes: number): Hash => createHash('sha1').update(`blob ${bytes}\0`);

/** Checks a file's content: by SHA-256 if it is in large-file storage, otherwise by Git's SHA-1. */
export const contentCheck = ({ etag, sha256, bytes }: ListedFile): ContentCheck => {
  const isGit = sha256 === undefined && /^[0-9a-f]{40}$/.test(etag);
  const hash = isGit ? gitBlobHash(bytes) : createHash('sha256');
  const expected = isGit ? etag : sha256;
  return {
    update: (chunk) => hash.update(chunk),
    mismatch: () => (expected === undefined || hash.digest('hex') === expected ? undefined : expected),
  };
};

/** Writes the link to a blob, and the blob if `content` is given. */
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
 * Puts a small file into the hub's cache, if missing.
 *
 * @throws WRITE_FAILED, errors of `fetch`
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
    // Fetches outside `writing`, so that errors are not reported as WRITE_FAILED.
    const content = (await exists(blob)) ? undefined : await fetch();
    await writing(pointer, () => placeFile(pointer, blob, content, { isOnlyWriter: state === 'taken' }));
  });
};

/**
 * Puts a verified file into the hub's cache as a hard link; across file systems, as a copy.
 *
 * @throws WRITE_FAILED
 */
export const putWholeFile = async (
  at: HubCacheCommit,
  file: ListedFile,
  from: string,
  signal: AbortSignal | undefined,
): Promise<void> => {
  const [pointer, blob] = [pointerPath(at, file.name), blobPath(at, file)];
  const make = (temporary: string) => link(from, temporary).catch(() => copyDurably(from, temporary));
  await withLock(lockPath(at, file), signal, ({ state }) =>
    writing(pointer, async () => {
      if (!(await exists(blob))) {
        await mkdir(dirname(blob), { recursive: true });
        await putInPlace(blob, make, { isOnlyWriter: state === 'taken' });
      }
      await placeLink(pointer, blob);
    }),
  );
};
