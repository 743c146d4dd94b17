import { join } from 'node:path';
import type { FoundModel } from '../../../address/found-model.js';
import { parseHubId } from '../../../address/remote.js';
import { isUsable } from '../../ranges/folder.js';
import { rangeCacheRoot } from '../../ranges/root.js';
import { cachedCommit, modelFolder } from './hub-cache.js';

/** The folder of a commit in the cache of ranges. */
export const rangeFolder = (id: string, commit: string, root = rangeCacheRoot()): string =>
  join(root, modelFolder(id), commit);

/**
 * Finds `org/name[@revision]` in the cache of ranges, by the commit that the hub's cache has for the revision;
 * undefined where the model's headers are not here, and for other spellings.
 */
export const rangeCacheOf = async (
  model: string,
  env: NodeJS.ProcessEnv = process.env,
): Promise<FoundModel | undefined> => {
  const parsed = parseHubId(model);
  if (parsed === undefined) return undefined;
  const commit = await cachedCommit(parsed, env);
  const path = rangeFolder(parsed.id, commit, rangeCacheRoot(env));
  if (!(await isUsable(path))) return undefined;
  return { name: parsed.id, path, hub: { id: parsed.id, revision: commit } };
};
