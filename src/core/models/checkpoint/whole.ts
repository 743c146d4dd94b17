import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { allExist } from '../../base/exists.js';
import { namesIn } from '../../base/unless-missing.js';
import { findWeights, isIndexRead, isWeightsName } from './containers/containers.js';
import { adapterConfigName, adapterWeightsName } from './file-names.js';
import { readSideFile } from './small-file.js';

/**
 * True if a directory has weights: a checkpoint of one file, or an index and all shards that it
 * names, or an adapter's two files. The hub's
 * own library leaves directories without them when it is interrupted, or was asked for some files only, and links
 * to blobs that were removed.
 *
 * @throws LayerloomError READ_FAILED
 */
export const hasAllWeights = async (directory: string): Promise<boolean> => {
  const names = await namesIn(directory);
  const found = findWeights(names);
  if (found?.index !== undefined) {
    const { index } = found;
    const path = join(directory, index.name);
    const shards = await readSideFile(path)
      .then((text) => [...new Set(index.parse(text, path).values())])
      // An index that cannot be read is for `readModel` to refuse, with its reason.
      .catch((): string[] => []);
    const needed = isIndexRead(found, shards) ? shards : found.files;
    return await allExist(needed.map((file) => join(directory, file)));
  }
  const weights = found?.files ?? [adapterConfigName, adapterWeightsName];
  return await allExist(weights.map((name) => join(directory, name)));
};

/** True if a directory of the hub's cache has no file of weights of any kind. */
export const hasNoWeights = async (directory: string): Promise<boolean> =>
  !(await readdir(directory, { recursive: true })).some(isWeightsName);
