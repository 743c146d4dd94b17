import { join } from 'node:path';
import { formats } from '../checkpoint/formats.js';
import type { HubModel } from '../checkpoint/hub-cache.js';
import { allExist, exists } from '../checkpoint/model-place.js';
import { cachedCommit, isUsable, rangeFolder } from '../checkpoint/range-cache.js';
import { readSideFile } from '../checkpoint/small-file.js';
import { snapshotPath } from './cache-writer.js';
import { hubEnvironment } from './environment.js';
import { holdRangeFolder } from './hold.js';
import type { BroughtModel } from './hub.js';

/** Where the user has forbidden the network: the model as the caches have it, if they do. */
export const findOffline = async (
  asked: HubModel,
  env: NodeJS.ProcessEnv = process.env,
): Promise<BroughtModel | undefined> => {
  const { offline, cache, ranges } = await hubEnvironment(env);
  if (offline === undefined) return undefined;
  const commit = await cachedCommit(asked, env);
  const { id } = asked;
  const snapshot = snapshotPath({ cache, id, commit });
  if (await isWholeSnapshot(snapshot)) return { path: snapshot, id, revision: commit };
  const folder = rangeFolder(id, commit, ranges);
  if (!(await isUsable(folder))) return undefined;
  await holdRangeFolder(folder, ranges);
  return { path: folder, id, revision: commit };
};

/** True if a snapshot has the weights that its index names, or its only file of weights. */
const isWholeSnapshot = async (folder: string): Promise<boolean> => {
  for (const { shardName, indexName, parseIndex } of formats) {
    const index = join(folder, indexName);
    const names = (await exists(index))
      ? [...new Set(parseIndex((await readSideFile(index)).toString(), index).values())]
      : [shardName(0, 1)];
    if (await allExist(names.map((name) => join(folder, name)))) return true;
  }
  return false;
};
