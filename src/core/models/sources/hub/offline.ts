import type { HubModel } from '../../address/remote.js';
import { hasAllWeights } from '../../checkpoint/whole.js';
import { holdRangeFolder } from '../ranges/folder/hold.js';
import { repositoryPath, snapshotPath } from './cache/cache-writer.js';
import { cachedCommit } from './cache/hub-cache.js';
import { commitOfSnapshot } from './cache/own-repository.js';
import { usableRangeFolder } from './cache/range-folders.js';
import { hubEnvironment } from './environment.js';
import type { BroughtModel } from './hub.js';

/** Finds the model in the caches if the user forbids network access; otherwise undefined. */
export const findOffline = async (
  asked: HubModel,
  env: NodeJS.ProcessEnv = process.env,
): Promise<BroughtModel | undefined> => {
  const { offline, cache, ranges } = await hubEnvironment(env);
  if (offline === undefined) return undefined;
  const commit = await cachedCommit(asked, env);
  const { id } = asked;
  const snapshot = snapshotPath({ cache, id, commit });
  if (await hasAllWeights(snapshot))
    return { path: snapshot, id, revision: await commitOfSnapshot(repositoryPath({ cache, id }), snapshot) };
  const folder = await usableRangeFolder(id, commit, ranges);
  if (folder === undefined) return undefined;
  await holdRangeFolder(folder, ranges);
  return { path: folder, id, revision: commit };
};
