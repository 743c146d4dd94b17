import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { allExist } from '../../base/files/exists.js';
import { namesIn } from '../../base/files/unless-missing.js';
import { findWeights, isIndexRead, isWeightsName } from './containers/containers.js';
import { adapterConfigName, adapterWeightsName } from './files/file-names.js';
import { readSideFile } from './files/small-file.js';

/**
 * True if a directory has all its weights: a single file, an index with all shards, or an adapter's two
 * files. In the hub's cache, files may be missing or links broken.
 *
 * @throws READ_FAILED
 */
export const hasAllWeights = async (directory: string): Promise<boolean> => {
  const names = await namesIn(directory);
  const found = findWeights(names);
  if (found?.index !== undefined) {
    const { index } = found;
    const path = join(directory, index.name);
    const shards = await readSideFile(path)
      .then((text) => [...new Set(index.parse(text, path).values())])
      // `readModel` refuses an unreadable index, with its reason.
      .catch((): string[] => []);
    const needed = isIndexRead(found, shards) ? shards : found.files;
    return await allExist(needed.map((file) => join(directory, file)));
  }
  const weights = found?.files ?? [adapterConfigName, adapterWeightsName];
  return await allExist(weights.map((name) => join(directory, name)));
};

export const hasNoWeights = async (directory: string): Promise<boolean> =>
  !(await readdir(directory, { recursive: true })).some(isWeightsName);
