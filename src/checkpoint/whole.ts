import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { allExist, exists } from '../base/exists.js';
import { adapterConfigName, adapterWeightsName } from './file-names.js';
import { formats } from './formats/formats.js';
import { readSideFile } from './small-file.js';

/**
 * True if a directory has weights: a checkpoint of one file, or an index and all shards that it
 * names, or an adapter's two files. The hub's
 * own library leaves directories without them when it is interrupted, or was asked for some files only, and links
 * to blobs that were removed.
 */
export const hasAllWeights = async (directory: string): Promise<boolean> => {
  const names = await readdir(directory).catch((): string[] => []);
  for (const { shardName, indexName, parseIndex } of formats) {
    if (names.includes(indexName)) {
      const path = join(directory, indexName);
      const shards = await readSideFile(path)
        .then((text) => [...new Set(parseIndex(text.toString(), path).values())])
        // An index that cannot be read is for `openCheckpoint` to refuse, with its reason.
        .catch((): string[] => []);
      return await allExist(shards.map((shard) => join(directory, shard)));
    }
    if (await exists(join(directory, shardName(0, 1)))) return true;
  }
  return allExist([adapterConfigName, adapterWeightsName].map((name) => join(directory, name)));
};

/** Weights of any kind, those too that are not read here. */
const anyWeights = /\.(safetensors|bin|pth?|gguf)$/;

/** True if a directory of the hub's cache has no file of weights of any kind. */
export const hasNoWeights = async (directory: string): Promise<boolean> =>
  !(await readdir(directory, { recursive: true })).some((name) => anyWeights.test(name));
