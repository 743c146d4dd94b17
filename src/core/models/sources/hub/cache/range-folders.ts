import { dirname, join } from 'node:path';
import { LayerloomError } from '../../../../base/errors/errors.js';
import type { FoundModel, HubRevision } from '../../../address/found-model.js';
import { parseHubId } from '../../../address/remote.js';
import { isUsable } from '../../ranges/folder/folder.js';
import { rangeCacheRoot } from '../../ranges/folder/root.js';
import { cachedCommit, commitPathOf, modelFolder } from './hub-cache.js';
import { checkRangeFolder, commitOfSnapshot } from './own-repository.js';

export const rangeFolder = (id: string, commit: string, root = rangeCacheRoot()): string =>
  join(root, modelFolder(id), commit);

/** Finds `org/name[@revision]` in the cache of ranges; undefined if headers or side files are missing. */
export const rangeCacheOf = async (
  model: string,
  env: NodeJS.ProcessEnv = process.env,
): Promise<FoundModel | undefined> => {
  const parsed = parseHubId(model);
  if (parsed === undefined) return undefined;
  const commit = await cachedCommit(parsed, env);
  const path = await usableRangeFolder(parsed.id, commit, rangeCacheRoot(env));
  if (path === undefined) return undefined;
  return { name: parsed.id, path, hub: { id: parsed.id, revision: commit } };
};

/**
 * Returns a commit's folder in the cache of ranges; undefined if headers or side files are missing.
 *
 * @throws READ_FAILED, also if the folder contains another model's files
 */
export const usableRangeFolder = async (
  id: string,
  commit: string,
  root = rangeCacheRoot(),
): Promise<string | undefined> => {
  const folder = rangeFolder(id, commit, root);
  await checkRangeFolder(folder);
  return (await isUsable(folder)) ? folder : undefined;
};

/** Returns repository and commit of a path in either cache; undefined if a link leads out of its folder. */
export const ownCommitOf = async (path: string): Promise<HubRevision | undefined> => {
  const found = commitPathOf(path);
  if (found === undefined) return undefined;
  const { hub, folder, repository } = found;
  try {
    if (dirname(folder) !== repository)
      return { ...hub, revision: await commitOfSnapshot(repository, folder) };
    await checkRangeFolder(folder);
    return hub;
  } catch (error) {
    if (error instanceof LayerloomError && error.code === 'READ_FAILED') return undefined;
    throw error;
  }
};
