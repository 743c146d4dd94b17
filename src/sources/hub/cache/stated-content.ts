import { exists } from '../../../base/exists.js';
import { hubRevisionOf } from './hub-cache.js';
import { contentOf, placeOf, rangeFolder } from './range-cache.js';

/**
 * Returns the hash that the hub states of a file's content, for files of models that are in the cache of ranges:
 * it stays the same while ranges arrive, and when the whole file comes into the hub's cache. Undefined for other
 * files, which are identified by what is read of them.
 *
 * @returns the SHA-256 in hexadecimal; for files that the hub keeps in Git, their object name
 */
export const statedContent = async (path: string): Promise<string | undefined> => {
  if (!(await isOfRangeCache(path))) return undefined;
  const content = await contentOf(path);
  return content?.sha256 ?? content?.etag;
};

const isOfRangeCache = async (path: string): Promise<boolean> => {
  const hub = hubRevisionOf(path);
  if (hub === undefined) return false;
  return (await placeOf(path)) !== undefined || (await exists(rangeFolder(hub.id, hub.revision)));
};
