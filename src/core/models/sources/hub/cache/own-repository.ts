import { lstat, readdir, realpath } from 'node:fs/promises';
import { basename, dirname, join, sep } from 'node:path';
import { LayerloomError } from '../../../../base/errors/errors.js';
import { linkBelow } from '../../../../base/files/own-directory.js';
import { unlessMissing } from '../../../../base/files/unless-missing.js';
import { isCommit, isRevision } from '../../../address/remote.js';
import { readFileIfAny } from '../../../checkpoint/files/small-file.js';

// Caches are shared and untrusted: a ref may hold a path, and a snapshot may be a link. With all links
// resolved, a repository's files must lie in its folder. Only the cache and the repository's folder may be
// links, because users place them to use another disk.

const refused = (file: string, reason: string): LayerloomError =>
  new LayerloomError('READ_FAILED', { file, reason });

/** Length of a commit and a line ending. */
const mostRefBytes = 42;

/**
 * Reads the recorded commit of a branch or tag; undefined without a record.
 *
 * @throws READ_FAILED for a link, or for content other than a commit, which is never quoted
 */
export const readRef = async (repository: string, revision: string): Promise<string | undefined> => {
  const file = join(repository, 'refs', ...revision.split('/'));
  const link = linkBelow(repository, file);
  if (link !== undefined) throw refused(file, link);
  const found = await unlessMissing(file, lstat(file));
  if (found === undefined || found.isDirectory()) return undefined;
  const content = found.size > mostRefBytes ? undefined : await readFileIfAny(file);
  const commit = content?.toString('latin1').replace(/\r?\n$/, '') ?? '';
  if (!isCommit(commit)) throw refused(file, 'it holds no commit; remove it, and download the model again');
  return commit;
};

const isWithin = (folder: string, path: string): boolean => path.startsWith(`${folder}${sep}`);

/** Matches a blob named by its content, which all repositories of a cache share. */
const sharedBlob = /^blobs\/(?<prefix>[0-9a-f]{2})\/\k<prefix>[0-9a-f]{62}$/;

const checkLinks = async (
  folder: string,
  repository: string,
  isOwn: (target: string) => boolean,
): Promise<void> => {
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isSymbolicLink()) continue;
    const link = join(entry.parentPath, entry.name);
    const target = await unlessMissing(link, realpath(link));
    if (target !== undefined && !isOwn(target))
      throw refused(
        link,
        `it is a link to ${target}, which is not in ${repository}; remove it, and download the model again`,
      );
  }
};

/**
 * Returns a snapshot's commit, and refuses snapshots outside the repository.
 *
 * @throws READ_FAILED
 */
export const commitOfSnapshot = async (repository: string, path: string): Promise<string> => {
  const [cache, root, snapshot] = await Promise.all([dirname(repository), repository, path].map(resolved));
  if (cache === undefined || root === undefined || snapshot === undefined)
    throw refused(path, 'it is no longer there; run again');
  if (basename(root) !== basename(repository))
    throw refused(repository, `it is a link to ${root}, a folder of another name; remove it`);
  const [asked, commit] = [basename(path), basename(snapshot)];
  if (dirname(snapshot) !== join(root, 'snapshots') || !isRevision(commit))
    throw refused(path, `it leads to ${snapshot}, which is no snapshot of ${repository}; remove it`);
  if (isCommit(asked) && asked !== commit)
    throw refused(path, `it leads to the snapshot of another commit, ${commit}; remove it`);
  const isShared = (target: string) =>
    isWithin(cache, target) && sharedBlob.test(target.slice(cache.length + 1));
  await checkLinks(snapshot, repository, (target) => isWithin(root, target) || isShared(target));
  return commit;
};

const resolved = (path: string): Promise<string | undefined> => unlessMissing(path, realpath(path));

/**
 * Refuses a commit's folder in the cache of ranges if a link leaves its bounds: links may lead to files of a
 * repository's folder with this name, or to shared blobs. The hub's cache may have moved since.
 *
 * @param folder `CACHE/models--org--name/COMMIT`
 * @throws READ_FAILED
 */
export const checkRangeFolder = async (folder: string): Promise<void> => {
  const repository = dirname(folder);
  const root = await resolved(folder);
  if (root === undefined) return;
  if (basename(dirname(root)) !== basename(repository) || basename(root) !== basename(folder))
    throw refused(folder, `it is a link to ${root}, the folder of another model; remove it`);
  const name = basename(repository);
  const isOwn = (target: string) => {
    const [parent, kind, ...rest] = behindLast(target, name);
    if (parent !== undefined) return kind === 'blobs' || (kind === 'snapshots' && rest.length > 1);
    return sharedBlob.test(target.split(sep).slice(-3).join('/'));
  };
  await checkLinks(root, repository, isOwn);
};

const behindLast = (path: string, name: string): string[] => {
  const parts = path.split(sep);
  const at = parts.lastIndexOf(name);
  return at === -1 ? [] : parts.slice(at);
};
