import { readlink, realpath } from 'node:fs/promises';
import { dirname, resolve, sep } from 'node:path';
import { allWithinReach } from '../../../../base/files/exists.js';
import { placeOf, recordOf } from '../../ranges/folder/folder.js';
import type { FileContent } from '../../ranges/folder/record.js';
import { commitPathOf } from './hub-cache.js';
import { rangeFolder } from './range-folders.js';

const blobPath = /\/models--[^/]+\/blobs\/(?<etag>[0-9a-f]{40}|[0-9a-f]{64})$/;

const mostLinks = 8;

/** Returns the ETag of the blob at a path, or of the blob to which the path links. A blob may link to a shared blob. */
const blobEtag = async (path: string): Promise<string | undefined> => {
  let at = path;
  for (let links = 0; links <= mostLinks; links += 1) {
    const etag = blobPath.exec(at.split(sep).join('/'))?.groups?.['etag'];
    if (etag !== undefined) return etag;
    const target = await readlink(at).catch(() => undefined);
    if (target === undefined) return undefined;
    at = resolve(await realpath(dirname(at)), target);
  }
  return undefined;
};

/**
 * Returns the hub's name for a file's content, which does not change while ranges arrive. Undefined unless
 * the file is in the cache of ranges, or is a blob of the hub's cache or a link to one.
 */
export const contentOf = async (path: string): Promise<FileContent | undefined> => {
  const record = await recordOf(path);
  if (record !== undefined)
    return { etag: record.etag, ...(record.sha256 === undefined ? {} : { sha256: record.sha256 }) };
  const etag = await blobEtag(path);
  return etag?.length === 64 ? { etag, sha256: etag } : etag === undefined ? undefined : { etag };
};

/**
 * Returns the hub's hash of a file in the cache of ranges; undefined for other files. The hash stays the same
 * while ranges arrive and when the file moves to the hub's cache.
 *
 * @returns SHA-256 in hexadecimal, or the Git object name of files kept in Git
 */
export const statedContent = async (path: string): Promise<string | undefined> => {
  if (!(await isOfRangeCache(path))) return undefined;
  const content = await contentOf(path);
  return content?.sha256 ?? content?.etag;
};

const isOfRangeCache = async (path: string): Promise<boolean> => {
  const hub = commitPathOf(path)?.hub;
  if (hub === undefined) return false;
  return (await placeOf(path)) !== undefined || (await allWithinReach([rangeFolder(hub.id, hub.revision)]));
};
